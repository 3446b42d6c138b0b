// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RequestOptions } from "../options.js";
import type { APIPromise } from "../promise.js";
import { path, Resource } from "../resource.js";
import type { ConversationFollowupResponse, ConversationResponse, RunFollowupRequest, RunReference } from "./types.js";

/** Part of a client. */
export class Conversations extends Resource {
  /**
   * Get a conversation.
   * Of the newest run that belongs to it.
   */
  get(conversationId: string, query: ConversationsGetQuery = {}, options?: RequestOptions): APIPromise<ConversationResponse> {
    return this.callJSON<ConversationResponse>({ method: "GET", path: path`/agent/conversations/${conversationId}`, query: { ...query }, replay: true, options });
  }

  /** Send a follow-up to a conversation. */
  followup(conversationId: string, body: RunFollowupRequest, options?: RequestOptions): APIPromise<ConversationFollowupResponse> {
    return this.callJSON<ConversationFollowupResponse>({ method: "POST", path: path`/agent/conversations/${conversationId}/followups`, body, replay: true, options });
  }

  /** Interrupt a conversation. */
  interrupt(conversationId: string, options?: RequestOptions): APIPromise<RunReference> {
    return this.callJSON<RunReference>({ method: "POST", path: path`/agent/conversations/${conversationId}/interrupt`, replay: false, options });
  }

  /**
   * Download the log of a conversation.
   * Redirects to a file with one JSON object per event and line.
   */
  transcript(conversationId: string, options?: RequestOptions): APIPromise<Response> {
    return this.callDownload({ method: "GET", path: path`/agent/conversations/${conversationId}/transcript`, replay: true, options });
  }
}

/** Selects what get answers. */
export interface ConversationsGetQuery {
  /** From page_info.next_cursor: continues a conversation that was too long for one answer. */
  cursor?: string | undefined;
}
