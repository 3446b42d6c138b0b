// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { APIPromise } from "../promise.js";
import { Resource } from "../resource.js";
import type { ListModelsResponse } from "./types.js";

/** Part of a client. */
export class Models extends Resource {
  /** List what this server can run. */
  list(options?: RequestOptions): APIPromise<ListModelsResponse> {
    return this.callJSON<ListModelsResponse>({ method: "GET", path: "/agent/models", replay: true, options });
  }
}
