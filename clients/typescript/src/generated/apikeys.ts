// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { APIKey, CreateAPIKeyRequest, CreatedAPIKey } from "./types.js";

/** Part of a client. */
export class Apikeys extends Resource {
  /** List API keys. */
  list(query: ApikeysListQuery = {}, options?: RequestOptions): PagePromise<APIKey> {
    return this.callPage<APIKey>({ method: "GET", path: "/apikeys", query: { ...query }, replay: true, options }, "apikeys");
  }

  /**
   * Create an API key.
   * The answer contains the key, only this once.
   */
  create(body: CreateAPIKeyRequest, options?: RequestOptions): APIPromise<CreatedAPIKey> {
    return this.callJSON<CreatedAPIKey>({ method: "POST", path: "/apikeys", body, replay: false, options });
  }

  /** Revoke an API key. */
  revoke(keyId: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/apikeys/${keyId}`, replay: true, options });
  }
}

/** Selects what list answers. */
export interface ApikeysListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
