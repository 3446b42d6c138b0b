// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RunEvent } from "../events.js";
import type { RequestOptions } from "../options.js";
import type { PagePromise } from "../pages.js";
import type { APIPromise } from "../promise.js";
import { type Content, path, Resource } from "../resource.js";
import type { ArtifactType, CancelRunsRequest, CancelRunsResponse, ConversationResponse, HandoffAttachmentsResponse, RunAgentRequest, RunAgentResponse, RunFollowupRequest, RunFollowupResponse, RunItem, RunReference, RunReportRequest, RunReportResponse, RunSortBy, RunSourceType, RunState, TaskStatus, TimelineResponse } from "./types.js";

/** Part of a client. */
export class Runs extends Resource {
  /**
   * Find a run by what it produced.
   * The newest run that reported this address as an artifact.
   */
  byReference(query: RunsByReferenceQuery, options?: RequestOptions): APIPromise<RunReference> {
    return this.callJSON<RunReference>({ method: "GET", path: "/agent/run-by-external-reference", query: { ...query }, replay: true, options });
  }

  /**
   * List runs.
   * All conditions must hold. Newest change first, unless sort_by says otherwise.
   */
  list(query: RunsListQuery = {}, options?: RequestOptions): PagePromise<RunItem> {
    return this.callPage<RunItem>({ method: "GET", path: "/agent/runs", query: { ...query }, replay: true, options }, "runs");
  }

  /**
   * Start a run.
   * Queues a run and answers once it is durable. Watch it with getRun or getRunEvents.
   */
  create(body: RunAgentRequest, options?: RequestOptions): APIPromise<RunAgentResponse> {
    return this.callJSON<RunAgentResponse>({ method: "POST", path: "/agent/runs", body, replay: true, options });
  }

  /**
   * Cancel runs by filter.
   * Cancels every live run that the filter selects.
   */
  cancelAll(body: CancelRunsRequest, options?: RequestOptions): APIPromise<CancelRunsResponse> {
    return this.callJSON<CancelRunsResponse>({ method: "POST", path: "/agent/runs/cancel", body, replay: false, options });
  }

  /**
   * Delete a run.
   * Removes an ended run with its log and artifacts. A live run is answered with 409: cancel it first.
   */
  delete(runId: string, options?: RequestOptions): APIPromise<void> {
    return this.callDelete({ method: "DELETE", path: path`/agent/runs/${runId}`, replay: true, options });
  }

  /** Get a run. */
  get(runId: string, query: RunsGetQuery = {}, options?: RequestOptions): APIPromise<RunItem> {
    return this.callJSON<RunItem>({ method: "GET", path: path`/agent/runs/${runId}`, query: { ...query }, replay: true, options });
  }

  /**
   * Report a file of your own run.
   * For agents: the body is the content, of at most 100 MB. Files in $LINESHAFT_ARTIFACTS are stored at the end of a turn without this.
   */
  reportArtifact(runId: string, body: Content, query: RunsReportArtifactQuery, options?: RequestOptions): APIPromise<RunReportResponse> {
    return this.callJSON<RunReportResponse>({ method: "POST", path: path`/agent/runs/${runId}/artifacts`, body, query: { ...query }, replay: false, options });
  }

  /**
   * Cancel a run.
   * The run is CANCELLED when this answers; its processes are gone within 10 seconds. A run that has ended is answered with 400.
   */
  cancel(runId: string, query: RunsCancelQuery = {}, options?: RequestOptions): APIPromise<string> {
    return this.callJSON<string>({ method: "POST", path: path`/agent/runs/${runId}/cancel`, query: { ...query }, replay: true, options });
  }

  /** Get the conversation of a run. */
  conversation(runId: string, query: RunsConversationQuery = {}, options?: RequestOptions): APIPromise<ConversationResponse> {
    return this.callJSON<ConversationResponse>({ method: "GET", path: path`/agent/runs/${runId}/conversation`, query: { ...query }, replay: true, options });
  }

  /**
   * Read or follow the log of a run.
   * As JSON: a page of events. With Accept: text/event-stream: the events after Last-Event-ID (or after), then live ones; the id of each is its sequence, a comment comes every 15 seconds, and the stream ends when the run has ended and everything was sent.
   */
  events(runId: string, query: RunsEventsQuery = {}, options?: RequestOptions): PagePromise<RunEvent> {
    return this.callPage<RunEvent>({ method: "GET", path: path`/agent/runs/${runId}/events`, query: { ...query }, replay: true, options }, "events");
  }

  /**
   * Send a follow-up.
   * Adds a message to a run: before it starts, while it works, or after it has ended (which reopens it).
   */
  followup(runId: string, body: RunFollowupRequest, options?: RequestOptions): APIPromise<RunFollowupResponse> {
    return this.callJSON<RunFollowupResponse>({ method: "POST", path: path`/agent/runs/${runId}/followups`, body, replay: true, options });
  }

  /** List the files that were attached to a run. */
  attachments(runId: string, options?: RequestOptions): APIPromise<HandoffAttachmentsResponse> {
    return this.callJSON<HandoffAttachmentsResponse>({ method: "GET", path: path`/agent/runs/${runId}/handoff/attachments`, replay: true, options });
  }

  /**
   * Interrupt the current turn.
   * Stops what the agent is doing now; the run stays INPROGRESS, and a follow-up continues it. One that is CLAIMED is interrupted as soon as its agent begins.
   */
  interrupt(runId: string, options?: RequestOptions): APIPromise<void> {
    return this.callNothing({ method: "POST", path: path`/agent/runs/${runId}/interrupt`, replay: false, options });
  }

  /**
   * Report on your own run.
   * For agents: puts a message, notice, plan or address into the log of the run whose run token the caller has, while its execution is active. Values of the run's secrets are masked. An address becomes an artifact.
   */
  report(runId: string, body: RunReportRequest, options?: RequestOptions): APIPromise<RunReportResponse> {
    return this.callJSON<RunReportResponse>({ method: "POST", path: path`/agent/runs/${runId}/reports`, body, replay: false, options });
  }

  /**
   * Run again.
   * Starts a new run with the same request.
   */
  rerun(runId: string, options?: RequestOptions): APIPromise<RunAgentResponse> {
    return this.callJSON<RunAgentResponse>({ method: "POST", path: path`/agent/runs/${runId}/rerun`, replay: false, options });
  }

  /** Get the state changes of a run. */
  timeline(runId: string, options?: RequestOptions): APIPromise<TimelineResponse> {
    return this.callJSON<TimelineResponse>({ method: "GET", path: path`/agent/runs/${runId}/timeline`, replay: true, options });
  }

  /**
   * Download the log of a run.
   * Redirects to a file with one JSON object per event and line.
   */
  transcript(runId: string, options?: RequestOptions): APIPromise<Response> {
    return this.callDownload({ method: "GET", path: path`/agent/runs/${runId}/transcript`, replay: true, options });
  }
}

/** Selects what streamStates answers. */
export interface RunsStreamStatesQuery {
  /** Repeatable. */
  state?: RunState[] | undefined;
  /** Repeatable. */
  task_status?: TaskStatus[] | undefined;
  /** Equals config.name. */
  name?: string | undefined;
  /** The same as name. */
  config_name?: string | undefined;
  model_id?: string | undefined;
  /** The uid of a principal. */
  creator?: string | undefined;
  /** The uid of a principal. */
  executor?: string | undefined;
  /** Repeatable. */
  source?: RunSourceType[] | undefined;
  execution_location?: "LOCAL" | "REMOTE" | undefined;
  /** Inclusive. */
  created_after?: string | Date | undefined;
  /** Exclusive. */
  created_before?: string | Date | undefined;
  /** Inclusive. */
  updated_after?: string | Date | undefined;
  /** Exclusive. */
  updated_before?: string | Date | undefined;
  /** empty-environment selects runs without one. */
  environment_id?: string | undefined;
  /** owner/repo:path or owner/repo:name; finds runs that were started with either. */
  skill?: string | undefined;
  /** The same as skill. */
  skill_spec?: string | undefined;
  schedule_id?: string | undefined;
  /** Repeatable. */
  factory_uid?: string[] | undefined;
  /** Only runs of a factory. */
  factory_only?: boolean | undefined;
  automation_id?: string | undefined;
  webhook_id?: string | undefined;
  delivery_id?: string | undefined;
  /** Children of this run. */
  parent_run_id?: string | undefined;
  /** All descendants of this run. */
  ancestor_run_id?: string | undefined;
  /** hosted for the server's own workers. */
  worker_host?: string | undefined;
  /** metadata[KEY]=VALUE, at most 5; exact, all must hold. */
  metadata?: Record<string, string> | undefined;
  /** Runs that have such an artifact. */
  artifact_type?: ArtifactType | undefined;
  /** Words of title, name, skill and the start of the prompt; also an exact run id. */
  q?: string | undefined;
  /** Resumes after this change; without it, the stream begins now. */
  cursor?: string | undefined;
}

/** Selects what byReference answers. */
export interface RunsByReferenceQuery {
  /** The address of an external reference that a run reported. */
  url: string;
}

/** Selects what list answers. */
export interface RunsListQuery {
  /** Repeatable. */
  state?: RunState[] | undefined;
  /** Repeatable. */
  task_status?: TaskStatus[] | undefined;
  /** Equals config.name. */
  name?: string | undefined;
  /** The same as name. */
  config_name?: string | undefined;
  model_id?: string | undefined;
  /** The uid of a principal. */
  creator?: string | undefined;
  /** The uid of a principal. */
  executor?: string | undefined;
  /** Repeatable. */
  source?: RunSourceType[] | undefined;
  execution_location?: "LOCAL" | "REMOTE" | undefined;
  /** Inclusive. */
  created_after?: string | Date | undefined;
  /** Exclusive. */
  created_before?: string | Date | undefined;
  /** Inclusive. */
  updated_after?: string | Date | undefined;
  /** Exclusive. */
  updated_before?: string | Date | undefined;
  /** empty-environment selects runs without one. */
  environment_id?: string | undefined;
  /** owner/repo:path or owner/repo:name; finds runs that were started with either. */
  skill?: string | undefined;
  /** The same as skill. */
  skill_spec?: string | undefined;
  schedule_id?: string | undefined;
  /** Repeatable. */
  factory_uid?: string[] | undefined;
  /** Only runs of a factory. */
  factory_only?: boolean | undefined;
  automation_id?: string | undefined;
  webhook_id?: string | undefined;
  delivery_id?: string | undefined;
  /** Children of this run. */
  parent_run_id?: string | undefined;
  /** All descendants of this run. */
  ancestor_run_id?: string | undefined;
  /** hosted for the server's own workers. */
  worker_host?: string | undefined;
  /** metadata[KEY]=VALUE, at most 5; exact, all must hold. */
  metadata?: Record<string, string> | undefined;
  /** Runs that have such an artifact. */
  artifact_type?: ArtifactType | undefined;
  /** Words of title, name, skill and the start of the prompt; also an exact run id. */
  q?: string | undefined;
  limit?: number | undefined;
  /** From page_info.next_cursor, with the same filters and order. */
  cursor?: string | undefined;
  sort_by?: RunSortBy | undefined;
  sort_order?: "asc" | "desc" | undefined;
}

/** Selects what get answers. */
export interface RunsGetQuery {
  /** Adds agent_config_origins. */
  explain?: boolean | undefined;
}

/** Selects what reportArtifact answers. */
export interface RunsReportArtifactQuery {
  /** The name of the file, without folders. */
  filename: string;
  /** FILE by default. */
  type?: "FILE" | "SCREENSHOT" | "PLAN" | undefined;
  /** Its type; if absent, it follows from the file name. */
  mime_type?: string | undefined;
  title?: string | undefined;
  description?: string | undefined;
}

/** Selects what cancel answers. */
export interface RunsCancelQuery {
  /** Also cancels the descendants. */
  cascade?: boolean | undefined;
}

/** Selects what conversation answers. */
export interface RunsConversationQuery {
  /** From page_info.next_cursor: continues a conversation that was too long for one answer. */
  cursor?: number | undefined;
}

/** Selects what events answers. */
export interface RunsEventsQuery {
  /** Only events with a greater sequence. */
  after?: number | undefined;
  /** The same as after; page_info.next_cursor has it. */
  cursor?: string | undefined;
  /** For the JSON form. */
  limit?: number | undefined;
}
