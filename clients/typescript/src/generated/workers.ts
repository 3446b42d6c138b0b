// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import { Resource } from "../resource.js";
import type { ConnectedSelfHostedWorker } from "./types.js";

/** Part of a client. */
export class Workers extends Resource {
  /** List the connected workers. */
  list(options?: RequestOptions): PagePromise<ConnectedSelfHostedWorker> {
    return this.callPage<ConnectedSelfHostedWorker>({ method: "GET", path: "/agent/connected-self-hosted-workers", replay: true, options }, "workers");
  }
}
