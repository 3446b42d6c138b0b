// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { AgentResponse, CreateAgentRequest, UpdateAgentRequest } from "./types.js";

/** Part of a client. */
export class Agents extends Resource {
  /**
   * List agents.
   * All that your key may see, by factory and name.
   */
  list(query: AgentsListQuery = {}, options?: RequestOptions): PagePromise<AgentResponse> {
    return this.callPage<AgentResponse>({ method: "GET", path: "/agent/identities", query: { ...query }, replay: true, options }, "agents");
  }

  /**
   * Create an agent.
   * In a factory, or for the whole team. Runs that name it with agent_identity_uid take its configuration and factory.
   */
  create(body: CreateAgentRequest, options?: RequestOptions): APIPromise<AgentResponse> {
    return this.callJSON<AgentResponse>({ method: "POST", path: "/agent/identities", body, replay: false, options });
  }

  /**
   * Delete an agent.
   * You cannot delete the foreman (400), or one that an automation or a schedule names (409). Its runs stay.
   */
  delete(agentUid: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/agent/identities/${agentUid}`, replay: true, options });
  }

  /** Get an agent. */
  get(agentUid: string, options?: RequestOptions): APIPromise<AgentResponse> {
    return this.callJSON<AgentResponse>({ method: "GET", path: path`/agent/identities/${agentUid}`, replay: true, options });
  }

  /**
   * Change an agent.
   * What is absent or null stays; an empty value is removed. FOREMAN as agent_type replaces the current foreman.
   */
  update(agentUid: string, body: UpdateAgentRequest, options?: RequestOptions): APIPromise<AgentResponse> {
    return this.callJSON<AgentResponse>({ method: "PUT", path: path`/agent/identities/${agentUid}`, body, replay: true, options });
  }
}

/** Selects what list answers. */
export interface AgentsListQuery {
  /** Only those of this factory. */
  factory_uid?: string | undefined;
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
