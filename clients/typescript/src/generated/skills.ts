// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import { Resource } from "../resource.js";
import type { AgentListItem } from "./types.js";

/** Part of a client. */
export class Skills extends Resource {
  /**
   * List skills.
   * The skills of repositories, by name. A repository that cannot be read is left out, unless repo names it. A viewer may name a repository of an environment or a factory; callers who may start runs may name any that the server can read.
   */
  list(query: SkillsListQuery = {}, options?: RequestOptions): PagePromise<AgentListItem> {
    return this.callPage<AgentListItem>({ method: "GET", path: "/agent", query: { ...query }, replay: true, options }, "agents");
  }
}

/** Selects what list answers. */
export interface SkillsListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
  /** Only the skills of this repository, owner/repo. Otherwise those of all environments and factories. */
  repo?: string | undefined;
  /** Ask the forge again instead of using what was read in the last minute. */
  refresh?: boolean | undefined;
  /** name by default; last_run lists the most recently used first. */
  sort_by?: "name" | "last_run" | undefined;
  /** Also list files that are not valid skills, with their error. */
  include_malformed_skills?: boolean | undefined;
}
