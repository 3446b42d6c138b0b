// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { CreateWebhookRequest, IssuedWebhook, RotateWebhookRequest, TestWebhookRequest, TestWebhookResponse, UpdateWebhookRequest, Webhook } from "./types.js";

/** Part of a client. */
export class Webhooks extends Resource {
  /**
   * List webhooks.
   * All of the factory, by name.
   */
  list(factoryUid: string, query: WebhooksListQuery = {}, options?: RequestOptions): PagePromise<Webhook> {
    return this.callPage<Webhook>({ method: "GET", path: path`/factory/${factoryUid}/webhooks`, query: { ...query }, replay: true, options }, "webhooks");
  }

  /**
   * Create a webhook.
   * A secret that the server generates is only in this answer. You may leave out a secret that the provider issues: the webhook is then created disabled with needs_secret, and rotateWebhook takes the secret. At most 20 per factory.
   */
  create(factoryUid: string, body: CreateWebhookRequest, options?: RequestOptions): APIPromise<IssuedWebhook> {
    return this.callJSON<IssuedWebhook>({ method: "POST", path: path`/factory/${factoryUid}/webhooks`, body, replay: false, options });
  }

  /**
   * Delete a webhook.
   * Senders get 404 at once. Its log stays until it expires; automations that select it stay, but do not fire.
   */
  delete(factoryUid: string, webhookUid: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/factory/${factoryUid}/webhooks/${webhookUid}`, replay: true, options });
  }

  /** Get a webhook. */
  get(factoryUid: string, webhookUid: string, options?: RequestOptions): APIPromise<Webhook> {
    return this.callJSON<Webhook>({ method: "GET", path: path`/factory/${factoryUid}/webhooks/${webhookUid}`, replay: true, options });
  }

  /**
   * Change a webhook.
   * What is absent stays. Senders of a disabled webhook get 404 at once.
   */
  update(factoryUid: string, webhookUid: string, body: UpdateWebhookRequest, options?: RequestOptions): APIPromise<Webhook> {
    return this.callJSON<Webhook>({ method: "PATCH", path: path`/factory/${factoryUid}/webhooks/${webhookUid}`, body, replay: true, options });
  }

  /**
   * Replace the secret of a webhook.
   * The old secret ends at once, or after overlap_seconds. A webhook that waits for its provider's secret is enabled with it. A webhook that uses a managed secret is answered with 409: change the value of that secret instead.
   */
  rotate(factoryUid: string, webhookUid: string, body: RotateWebhookRequest = {}, options?: RequestOptions): APIPromise<IssuedWebhook> {
    return this.callJSON<IssuedWebhook>({ method: "POST", path: path`/factory/${factoryUid}/webhooks/${webhookUid}/rotate`, body, replay: false, options });
  }

  /**
   * Send a test event.
   * The server signs the event with the webhook's own secret and treats it as if its sender had sent it: it counts against the rate limit, is in the log, marked as a test, and starts what matches.
   */
  test(factoryUid: string, webhookUid: string, body: TestWebhookRequest = {}, options?: RequestOptions): APIPromise<TestWebhookResponse> {
    return this.callJSON<TestWebhookResponse>({ method: "POST", path: path`/factory/${factoryUid}/webhooks/${webhookUid}/test`, body, replay: false, options });
  }
}

/** Selects what list answers. */
export interface WebhooksListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
