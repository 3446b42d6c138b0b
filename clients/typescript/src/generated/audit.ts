// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import { Resource } from "../resource.js";
import type { AuditEntry } from "./types.js";

/** Part of a client. */
export class Audit extends Resource {
  /**
   * Read the audit log.
   * Newest first.
   */
  list(query: AuditListQuery = {}, options?: RequestOptions): PagePromise<AuditEntry> {
    return this.callPage<AuditEntry>({ method: "GET", path: "/audit", query: { ...query }, replay: true, options }, "entries");
  }
}

/** Selects what list answers. */
export interface AuditListQuery {
  limit?: number | undefined;
  /** From page_info.next_cursor. */
  cursor?: string | undefined;
}
