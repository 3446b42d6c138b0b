// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { Automation, CreateAutomationRequest, ListTriggerEventsResponse, UpdateAutomationRequest } from "./types.js";

/** Part of a client. */
export class Automations extends Resource {
  /**
   * List the events that triggers of a provider may name.
   * By name, with the keys that their filters may have.
   */
  events(provider: string, options?: RequestOptions): APIPromise<ListTriggerEventsResponse> {
    return this.callJSON<ListTriggerEventsResponse>({ method: "GET", path: path`/factory/automations/events/${provider}`, replay: true, options });
  }

  /**
   * List automations.
   * Ordered by name.
   */
  list(factoryUid: string, query: AutomationsListQuery = {}, options?: RequestOptions): PagePromise<Automation> {
    return this.callPage<Automation>({ method: "GET", path: path`/factory/${factoryUid}/automations`, query: { ...query }, replay: true, options }, "automations");
  }

  /**
   * Create an automation.
   * Starts a run of its agent for each delivery that one of its triggers matches.
   */
  create(factoryUid: string, body: CreateAutomationRequest, options?: RequestOptions): APIPromise<Automation> {
    return this.callJSON<Automation>({ method: "POST", path: path`/factory/${factoryUid}/automations`, body, replay: false, options });
  }

  /**
   * Delete an automation.
   * Its runs stay.
   */
  delete(factoryUid: string, automationUid: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/factory/${factoryUid}/automations/${automationUid}`, replay: true, options });
  }

  /** Get an automation. */
  get(factoryUid: string, automationUid: string, options?: RequestOptions): APIPromise<Automation> {
    return this.callJSON<Automation>({ method: "GET", path: path`/factory/${factoryUid}/automations/${automationUid}`, replay: true, options });
  }

  /**
   * Change an automation.
   * What is absent stays; triggers and config are replaced as a whole.
   */
  update(factoryUid: string, automationUid: string, body: UpdateAutomationRequest, options?: RequestOptions): APIPromise<Automation> {
    return this.callJSON<Automation>({ method: "PATCH", path: path`/factory/${factoryUid}/automations/${automationUid}`, body, replay: true, options });
  }
}

/** Selects what list answers. */
export interface AutomationsListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
