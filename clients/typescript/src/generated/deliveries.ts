// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { Delivery, DeliveryDetail, DeliveryStatus, LoggedDelivery, OutcomeResult, RedeliverRequest, RedeliverResponse } from "./types.js";

/** Part of a client. */
export class Deliveries extends Resource {
  /**
   * Read the logs of a factory.
   * Deliveries to all live webhooks of the factory, newest first.
   */
  listAll(factoryUid: string, query: DeliveriesListAllQuery = {}, options?: RequestOptions): PagePromise<LoggedDelivery> {
    return this.callPage<LoggedDelivery>({ method: "GET", path: path`/factory/${factoryUid}/deliveries`, query: { ...query }, replay: true, options }, "deliveries");
  }

  /**
   * Read the log of a webhook.
   * Newest first; also for a deleted webhook. Deliveries that are older than 7 days and not among the newest 50 are removed.
   */
  list(factoryUid: string, webhookUid: string, query: DeliveriesListQuery = {}, options?: RequestOptions): PagePromise<Delivery> {
    return this.callPage<Delivery>({ method: "GET", path: path`/factory/${factoryUid}/webhooks/${webhookUid}/deliveries`, query: { ...query }, replay: true, options }, "deliveries");
  }

  /**
   * Get a delivery.
   * With its payload, if it was accepted.
   */
  get(factoryUid: string, webhookUid: string, deliveryId: string, query: DeliveriesGetQuery = {}, options?: RequestOptions): APIPromise<DeliveryDetail> {
    return this.callJSON<DeliveryDetail>({ method: "GET", path: path`/factory/${factoryUid}/webhooks/${webhookUid}/deliveries/${deliveryId}`, query: { ...query }, replay: true, options });
  }

  /**
   * Deliver again.
   * Evaluates a stored delivery with the current automations, under a new id. The rate limit and the identity are not checked, and this works for a disabled webhook. Only accepted deliveries can be repeated; for a duplicate, repeat the first one. A dry run, asked for in the body or the query, stores and starts nothing.
   */
  redeliver(factoryUid: string, webhookUid: string, deliveryId: string, body: RedeliverRequest = {}, options?: RequestOptions): APIPromise<RedeliverResponse> {
    return this.callJSON<RedeliverResponse>({ method: "POST", path: path`/factory/${factoryUid}/webhooks/${webhookUid}/deliveries/${deliveryId}/redeliver`, body, replay: true, options });
  }
}

/** Selects what listAll answers. */
export interface DeliveriesListAllQuery {
  /** Repeatable. */
  status?: DeliveryStatus[] | undefined;
  /** Deliveries for which an automation had this outcome. Repeatable. */
  outcome?: OutcomeResult[] | undefined;
  /** The event that the provider named in its header. */
  event?: string | undefined;
  /** A part of an id, an identity, an address, an automation's name or a reason. */
  q?: string | undefined;
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}

/** Selects what list answers. */
export interface DeliveriesListQuery {
  /** Inclusive. */
  received_after?: string | Date | undefined;
  /** Exclusive. */
  received_before?: string | Date | undefined;
  /** Repeatable. */
  status?: DeliveryStatus[] | undefined;
  /** Deliveries for which an automation had this outcome. Repeatable. */
  outcome?: OutcomeResult[] | undefined;
  /** The event that the provider named in its header. */
  event?: string | undefined;
  /** A part of an id, an identity, an address, an automation's name or a reason. */
  q?: string | undefined;
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}

/** Selects what get answers. */
export interface DeliveriesGetQuery {
  /** Adds not_matched_automations. */
  explain?: boolean | undefined;
}
