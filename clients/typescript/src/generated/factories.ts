// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { CreateFactoryRequest, Factory, FactoryRunRequest, FactoryRunResponse, TestFilterRequest, TestFilterResponse, UpdateFactoryRequest } from "./types.js";

/** Part of a client. */
export class Factories extends Resource {
  /**
   * List factories.
   * Those that the key reaches, oldest first.
   */
  list(query: FactoriesListQuery = {}, options?: RequestOptions): PagePromise<Factory> {
    return this.callPage<Factory>({ method: "GET", path: "/factory", query: { ...query }, replay: true, options }, "factories");
  }

  /**
   * Create a factory.
   * It starts with a foreman. If you name a repository, it follows that: its definition is applied as soon as it has been read. A key that is limited to factories cannot create one.
   */
  create(body: CreateFactoryRequest, options?: RequestOptions): APIPromise<Factory> {
    return this.callJSON<Factory>({ method: "POST", path: "/factory", body, replay: false, options });
  }

  /**
   * Delete a factory.
   * With its agents, automations and webhooks, and the secrets that were made for these. Its runs and the log of its deliveries stay.
   */
  delete(factoryUid: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/factory/${factoryUid}`, replay: true, options });
  }

  /** Get a factory. */
  get(factoryUid: string, options?: RequestOptions): APIPromise<Factory> {
    return this.callJSON<Factory>({ method: "GET", path: path`/factory/${factoryUid}`, replay: true, options });
  }

  /**
   * Change a factory.
   * What is absent stays; an empty alias or description is removed. A factory that follows a repository is edited there: only paused and repository can be changed here, and null for repository makes it a managed one.
   */
  update(factoryUid: string, body: UpdateFactoryRequest, options?: RequestOptions): APIPromise<Factory> {
    return this.callJSON<Factory>({ method: "PATCH", path: path`/factory/${factoryUid}`, body, replay: true, options });
  }

  /**
   * Read the repository of a factory now.
   * Applies what the branch has and answers with the result; a commit that was tried before is tried again. Problems of the definition and a repository that cannot be read are reported in repository, with 200. A managed factory is answered with 409.
   */
  sync(factoryUid: string, options?: RequestOptions): APIPromise<Factory> {
    return this.callJSON<Factory>({ method: "POST", path: path`/factory/${factoryUid}/repository/sync`, replay: true, options });
  }

  /**
   * Give work to a factory.
   * Starts a run of the foreman, even while the factory is paused: only its automations are paused. The ticket becomes metadata: ticket_source, ticket_id, ticket_url.
   */
  run(factoryUid: string, body: FactoryRunRequest, options?: RequestOptions): APIPromise<FactoryRunResponse> {
    return this.callJSON<FactoryRunResponse>({ method: "POST", path: path`/factory/${factoryUid}/runs`, body, replay: true, options });
  }

  /**
   * Try a filter.
   * Against a stored delivery or a given payload. Nothing is stored or started.
   */
  testFilter(factoryUid: string, body: TestFilterRequest, options?: RequestOptions): APIPromise<TestFilterResponse> {
    return this.callJSON<TestFilterResponse>({ method: "POST", path: path`/factory/${factoryUid}/test-filter`, body, replay: true, options });
  }
}

/** Selects what list answers. */
export interface FactoriesListQuery {
  /** A part of the name or alias, in any case. */
  search?: string | undefined;
  limit?: number | undefined;
  /** From page_info.next_cursor, with the same search. */
  cursor?: string | undefined;
}
