import type { Open, RunState } from "./generated/types.js";

/** What every entry of a run's log has. */
export interface EventOf<Type extends string, Data> {
  id: string;
  /** Counts from 1 without holes. */
  sequence: number;
  execution_id?: string;
  type: Type;
  time: string;
  data: Data;
  /** Only in the stream over all runs. */
  run_id?: string;
}

/** The state of the run changed. */
export type StateEvent = EventOf<"state", StateData>;

/**
 * One entry of a run's log. A newer server may send further types: a switch over `type`
 * needs a default branch that passes over them.
 */
export type RunEvent =
  | StateEvent
  | EventOf<"message", MessageData>
  | EventOf<"thought", MessageData>
  | EventOf<"tool_call", ToolCallData>
  | EventOf<"tool_result", ToolResultData>
  | EventOf<"output", OutputData>
  | EventOf<"plan", PlanData>
  | EventOf<"usage", UsageData>
  | EventOf<"permission_request", PermissionData>
  | EventOf<"artifact", ArtifactData>
  | EventOf<"notice", NoticeData>;

export interface StateData {
  from?: Open<RunState>;
  to: Open<RunState>;
  message?: string;
  error_code?: string;
  worker?: string;
}

export interface MessageData {
  role?: Open<"user" | "assistant" | "system">;
  text: string;
  followup_id?: string;
}

export interface ToolCallData {
  id: string;
  /** command, files, search, integration, documents, computer, review or skill. */
  category: string;
  name: string;
  input: Record<string, unknown>;
}

export interface ToolResultData {
  id: string;
  category: string;
  name: string;
  state: Open<"completed" | "failed" | "denied">;
  output: Record<string, unknown>;
}

export interface OutputData {
  stream: Open<"stdout" | "stderr">;
  text: string;
  /** The tool call that wrote it; absent for the agent itself. */
  tool_call_id?: string;
}

export interface PlanData {
  /** The whole list, each time it changes. */
  steps: { text: string; state?: Open<"pending" | "in_progress" | "completed">; priority?: Open<"high" | "medium" | "low"> }[];
}

export interface UsageData {
  model_id?: string;
  input_tokens: number;
  output_tokens: number;
  /** Those of input_tokens that came from a cache. */
  cached_input_tokens?: number;
  /** Millionths of a US dollar. */
  cost_micros?: number;
  /** There is no price. */
  cost_unknown?: boolean;
  /** The endpoint did not tell, or the answer was cut off. */
  estimated?: boolean;
}

export interface PermissionData {
  /** The tool call that waits; absent for another question. */
  tool_call_id?: string;
  title: string;
  /** Answers that can be given with a follow-up, which may also be any other text. */
  options?: { id: string; name: string; kind: Open<"allow_once" | "allow_always" | "reject_once" | "reject_always"> }[];
  /** How the policy answered; absent while people are asked. */
  decision?: string;
}

export interface ArtifactData {
  artifact_uid: string;
  artifact_type: string;
  filename?: string;
  url?: string;
}

export interface NoticeData {
  level: Open<"info" | "warning" | "error">;
  text: string;
}

const terminal: ReadonlySet<string> = new Set<RunState>(["SUCCEEDED", "FAILED", "ERROR", "CANCELLED"]);

/** Says whether a run in this state has ended. */
export function isTerminal(state: string): boolean {
  return terminal.has(state);
}
