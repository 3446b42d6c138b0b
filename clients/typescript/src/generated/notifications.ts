// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { CreateNotificationRequest, IssuedNotification, Notification, NotificationDelivery, NotificationDeliveryDetail, NotificationStatus, RotateNotificationRequest, UpdateNotificationRequest } from "./types.js";

/** Part of a client. */
export class Notifications extends Resource {
  /**
   * List notifications.
   * All that your key may see, oldest first.
   */
  list(query: NotificationsListQuery = {}, options?: RequestOptions): PagePromise<Notification> {
    return this.callPage<Notification>({ method: "GET", path: "/notifications", query: { ...query }, replay: true, options }, "notifications");
  }

  /**
   * Create a notification.
   * An endpoint that gets the state changes of runs as signed requests (Standard Webhooks). It gets every change from now on. A secret that the server generates is only in this answer. At most 50 in all.
   */
  create(body: CreateNotificationRequest, options?: RequestOptions): APIPromise<IssuedNotification> {
    return this.callJSON<IssuedNotification>({ method: "POST", path: "/notifications", body, replay: false, options });
  }

  /**
   * Delete a notification.
   * Nothing more is sent. Its log is deleted with it.
   */
  delete(notificationId: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/notifications/${notificationId}`, replay: true, options });
  }

  /** Get a notification. */
  get(notificationId: string, options?: RequestOptions): APIPromise<Notification> {
    return this.callJSON<Notification>({ method: "GET", path: path`/notifications/${notificationId}`, replay: true, options });
  }

  /**
   * Change a notification.
   * What is absent stays. While disabled, it gets nothing, and changes that happen meanwhile are not kept for it; when enabled again, it gets earlier pending deliveries that are younger than 72 hours.
   */
  update(notificationId: string, body: UpdateNotificationRequest, options?: RequestOptions): APIPromise<Notification> {
    return this.callJSON<Notification>({ method: "PATCH", path: path`/notifications/${notificationId}`, body, replay: true, options });
  }

  /**
   * Read the log of a notification.
   * Newest first. Deliveries older than 30 days are removed.
   */
  deliveries(notificationId: string, query: NotificationsDeliveriesQuery = {}, options?: RequestOptions): PagePromise<NotificationDelivery> {
    return this.callPage<NotificationDelivery>({ method: "GET", path: path`/notifications/${notificationId}/deliveries`, query: { ...query }, replay: true, options }, "deliveries");
  }

  /**
   * Get a delivery to a notification.
   * With its attempts and its payload.
   */
  delivery(notificationId: string, deliveryId: string, options?: RequestOptions): APIPromise<NotificationDeliveryDetail> {
    return this.callJSON<NotificationDeliveryDetail>({ method: "GET", path: path`/notifications/${notificationId}/deliveries/${deliveryId}`, replay: true, options });
  }

  /**
   * Send a delivery again.
   * Makes it pending, with the same webhook-id and payload and another 72 hours. A receiver recognises a repeat by its webhook-id.
   */
  replay(notificationId: string, deliveryId: string, options?: RequestOptions): APIPromise<NotificationDelivery> {
    return this.callJSON<NotificationDelivery>({ method: "POST", path: path`/notifications/${notificationId}/deliveries/${deliveryId}/replay`, replay: false, options });
  }

  /**
   * Replace the secret of a notification.
   * The old secret ends at once, or after overlap_seconds: until then, callbacks carry a signature with each.
   */
  rotate(notificationId: string, body: RotateNotificationRequest = {}, options?: RequestOptions): APIPromise<IssuedNotification> {
    return this.callJSON<IssuedNotification>({ method: "POST", path: path`/notifications/${notificationId}/rotate`, body, replay: false, options });
  }

  /**
   * Send a test.
   * Sends a callback of type notification.test, as state changes are sent. Watch it with getNotificationDelivery.
   */
  test(notificationId: string, options?: RequestOptions): APIPromise<NotificationDelivery> {
    return this.callJSON<NotificationDelivery>({ method: "POST", path: path`/notifications/${notificationId}/test`, replay: false, options });
  }
}

/** Selects what list answers. */
export interface NotificationsListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}

/** Selects what deliveries answers. */
export interface NotificationsDeliveriesQuery {
  /** Only these. */
  status?: NotificationStatus | undefined;
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
