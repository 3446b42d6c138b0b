// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { APIPromise } from "../promise.js";
import { Resource } from "../resource.js";
import type { EgressRangesResponse, WhoamiResponse } from "./types.js";

/** Part of a client. */
export class Server extends Resource {
  /** List egress addresses. */
  egressRanges(options?: RequestOptions): APIPromise<EgressRangesResponse> {
    return this.callJSON<EgressRangesResponse>({ method: "GET", path: "/networking/egress-ranges", replay: true, options });
  }

  /** Show whose key this is. */
  whoami(options?: RequestOptions): APIPromise<WhoamiResponse> {
    return this.callJSON<WhoamiResponse>({ method: "GET", path: "/whoami", replay: true, options });
  }
}
