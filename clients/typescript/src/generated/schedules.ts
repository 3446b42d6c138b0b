// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { CreateScheduledAgentRequest, DeleteScheduledAgentResponse, ScheduledAgentItem, UpdateScheduledAgentRequest } from "./types.js";

/** Part of a client. */
export class Schedules extends Resource {
  /**
   * List schedules.
   * All of them, ordered by name.
   */
  list(query: SchedulesListQuery = {}, options?: RequestOptions): PagePromise<ScheduledAgentItem> {
    return this.callPage<ScheduledAgentItem>({ method: "GET", path: "/agent/schedules", query: { ...query }, replay: true, options }, "schedules");
  }

  /**
   * Create a schedule.
   * Starts a run at set times, from now on. One run makes up for times that pass while the server is down. Beyond the limit, the answer is 409.
   */
  create(body: CreateScheduledAgentRequest, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.callJSON<ScheduledAgentItem>({ method: "POST", path: "/agent/schedules", body, replay: false, options });
  }

  /**
   * Delete a schedule.
   * Its runs stay.
   */
  delete(scheduleId: string, options?: RequestOptions): APIPromise<DeleteScheduledAgentResponse> {
    return this.callJSON<DeleteScheduledAgentResponse>({ method: "DELETE", path: path`/agent/schedules/${scheduleId}`, replay: true, options });
  }

  /** Get a schedule. */
  get(scheduleId: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.callJSON<ScheduledAgentItem>({ method: "GET", path: path`/agent/schedules/${scheduleId}`, replay: true, options });
  }

  /**
   * Replace a schedule.
   * What is absent is cleared. Another cron_schedule or timezone counts from now on.
   */
  update(scheduleId: string, body: UpdateScheduledAgentRequest, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.callJSON<ScheduledAgentItem>({ method: "PUT", path: path`/agent/schedules/${scheduleId}`, body, replay: true, options });
  }

  /** Pause a schedule. */
  pause(scheduleId: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.callJSON<ScheduledAgentItem>({ method: "POST", path: path`/agent/schedules/${scheduleId}/pause`, replay: true, options });
  }

  /**
   * Resume a schedule.
   * It fires from now on; times missed during the pause are skipped.
   */
  resume(scheduleId: string, options?: RequestOptions): APIPromise<ScheduledAgentItem> {
    return this.callJSON<ScheduledAgentItem>({ method: "POST", path: path`/agent/schedules/${scheduleId}/resume`, replay: true, options });
  }
}

/** Selects what list answers. */
export interface SchedulesListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
