// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { CreateSecretRequest, Secret, UpdateSecretRequest } from "./types.js";

/** Part of a client. */
export class Secrets extends Resource {
  /**
   * List secrets.
   * By name; values are never shown.
   */
  list(query: SecretsListQuery = {}, options?: RequestOptions): PagePromise<Secret> {
    return this.callPage<Secret>({ method: "GET", path: "/secrets", query: { ...query }, replay: true, options }, "secrets");
  }

  /**
   * Create a secret.
   * The value is stored encrypted and cannot be read again. Runs that name the secret get it as a variable of its name.
   */
  create(body: CreateSecretRequest, options?: RequestOptions): APIPromise<Secret> {
    return this.callJSON<Secret>({ method: "POST", path: "/secrets", body, replay: false, options });
  }

  /**
   * Delete a secret.
   * A secret that a webhook, factory, agent, automation or environment names is answered with 409.
   */
  delete(name: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/secrets/${name}`, replay: true, options });
  }

  /**
   * Get a secret.
   * Without its value.
   */
  get(name: string, options?: RequestOptions): APIPromise<Secret> {
    return this.callJSON<Secret>({ method: "GET", path: path`/secrets/${name}`, replay: true, options });
  }

  /**
   * Update a secret.
   * What is absent stays. Runs get a new value from their next execution on; webhooks when they are next enabled or their definition applies. This also holds for a credential that was generated for a webhook.
   */
  update(name: string, body: UpdateSecretRequest, options?: RequestOptions): APIPromise<Secret> {
    return this.callJSON<Secret>({ method: "PUT", path: path`/secrets/${name}`, body, replay: true, options });
  }
}

/** Selects what list answers. */
export interface SecretsListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
