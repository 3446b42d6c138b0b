// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { CloudEnvironment, EnvironmentRequest } from "./types.js";

/** Part of a client. */
export class Environments extends Resource {
  /**
   * List environments.
   * All of them, newest change first. There is no paging; a server has at most 500.
   */
  list(query: EnvironmentsListQuery = {}, options?: RequestOptions): PagePromise<CloudEnvironment> {
    return this.callPage<CloudEnvironment>({ method: "GET", path: "/agent/environments", query: { ...query }, replay: true, options }, "environments");
  }

  /**
   * Create an environment.
   * What is prepared before an agent starts: repositories are cloned, then the set-up commands run. Naming a secret grants it to every run in the environment.
   */
  create(body: EnvironmentRequest, options?: RequestOptions): APIPromise<CloudEnvironment> {
    return this.callJSON<CloudEnvironment>({ method: "POST", path: "/agent/environments", body, replay: false, options });
  }

  /**
   * Delete an environment.
   * An environment that a live run, a factory, an agent or an automation uses is answered with 409.
   */
  delete(environmentUid: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/agent/environments/${environmentUid}`, replay: true, options });
  }

  /** Get an environment. */
  get(environmentUid: string, options?: RequestOptions): APIPromise<CloudEnvironment> {
    return this.callJSON<CloudEnvironment>({ method: "GET", path: path`/agent/environments/${environmentUid}`, replay: true, options });
  }

  /**
   * Replace an environment.
   * The configuration is replaced as a whole. Runs get it from their next execution on.
   */
  update(environmentUid: string, body: EnvironmentRequest, options?: RequestOptions): APIPromise<CloudEnvironment> {
    return this.callJSON<CloudEnvironment>({ method: "PUT", path: path`/agent/environments/${environmentUid}`, body, replay: true, options });
  }
}

/** Selects what list answers. */
export interface EnvironmentsListQuery {
  /** Sort order; default last_updated, newest first. */
  sort_by?: "name" | "last_updated" | undefined;
}
