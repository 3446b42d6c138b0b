// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.

import type { RunEvent } from "../events.js";

/** One of the known values, or one that a newer server has. */
export type Open<T extends string> = T | (string & Record<never, never>);

export interface APIKey {
  created_at: string;
  expires_at?: string;
  factory_uids?: string[];
  /** The first characters of the key, to recognise it by. */
  hint?: string;
  id: string;
  last_used_at?: string;
  name: string;
  owner: RunCreatorInfo;
  revoked_at?: string;
  role: Open<KeyRole>;
  worker_ids?: string[];
}

export interface AgentListItem {
  name: string;
  variants: AgentVariant[];
}

export interface AgentMemory {
  attached_stores: (Record<string, unknown>)[];
  auto_memory: AutoMemory;
}

export interface AgentMemoryRequest {
  auto_memory?: AutoMemoryRequest | undefined;
}

export interface AgentResponse {
  agent_type?: Open<AgentType>;
  available: boolean;
  base_model?: string;
  created_at: string;
  /** Empty if there is none. */
  default_runner_uid: string;
  description?: string;
  environment_id?: string;
  /** Absent for agents of the whole team. */
  factory_uid?: string;
  harness?: Harness;
  /** Tool servers by name, or a list of them in which each has a name. */
  mcp_servers?: Record<string, MCPServerConfig> | unknown[];
  memory: AgentMemory;
  name: string;
  prompt?: string;
  /** In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the agent to read all of it. */
  prompt_truncated?: boolean;
  secrets: SecretRef[];
  skills: string[];
  uid: string;
  updated_at: string;
  worker_host?: string;
}

export interface AgentSkill {
  /** The commit of the repository that it was read from. */
  commit?: string;
  description: string;
  /** Where its file is in the repository, or in the definition of the factory. */
  full_path: string;
  name: string;
}

/** The type of an agent. A factory has exactly one FOREMAN. */
export type AgentType = "CUSTOM" | "FOREMAN" | "TRIAGE" | "SPEC" | "IMPLEMENT" | "REVIEW" | "VERIFY";

export interface AgentVariant {
  /** The text of the skill. */
  base_prompt: string;
  description: string;
  /** The environments that have the repository. */
  environments: VariantEnvironment[];
  /** With include_malformed_skills: why it cannot be used. */
  error?: string;
  /** What to give as skill. */
  id: string;
  /** When the newest run with it that you may see was created; null if there is none. */
  last_run_timestamp: string | null;
  source: AgentVariantSource;
}

export interface AgentVariantSource {
  /** The commit that was read. */
  commit?: string;
  name: string;
  owner: string;
  skill_path: string;
}

export interface AmbientAgentConfig {
  /** Text put before the prompt. */
  base_prompt?: string | undefined;
  budget?: Budget | undefined;
  computer_use_enabled?: boolean | undefined;
  concurrency?: Concurrency | undefined;
  /** Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422. */
  credential_strategy?: Open<"EXECUTOR"> | null | undefined;
  /** The environment to work in. */
  environment_id?: string | undefined;
  harness?: Harness | undefined;
  /** How long the workspace is kept after the run ended; 10 by default. */
  idle_timeout_minutes?: number | undefined;
  /** Tool servers by name, or a list of them in which each has a name. */
  mcp_servers?: Record<string, MCPServerConfig> | unknown[] | undefined;
  /** The language model, for the built-in agent. */
  model_id?: string | undefined;
  /** A label for grouping; the list filters by it. */
  name?: string | undefined;
  /** The longest it may wait for a worker; 1440 by default. */
  queue_timeout_minutes?: number | undefined;
  retry?: Retry | undefined;
  /** The kind of machine to work on: the name or uid of a runner of the run's factory. */
  runner_id?: string | undefined;
  /** Managed secrets that the run gets as variables. A caller may name those with access runs; others come from the factory, agent, automation or environment. */
  secrets?: SecretRef[] | undefined;
  /** A skill, owner/repo:name or owner/repo:path. In answers, the first of skills. */
  skill_spec?: string | undefined;
  /** Skills in order; with skill_spec it comes first. */
  skills?: string[] | undefined;
  /** The longest it may show no progress; 10 by default. */
  stall_minutes?: number | undefined;
  /** The longest the agent may work; 60 by default. */
  timeout_minutes?: number | undefined;
  /** The id of a self-hosted worker; hosted, warp or nothing mean the server's own workers. */
  worker_host?: string | undefined;
}

export interface ApplyDefinitionRequest {
  /** What the change is for; the list of revisions shows it. */
  comment?: string | undefined;
  /** Texts by path, such as factory.yaml and agents/foreman/agent.md. */
  files: Record<string, string>;
  /** Answers 409 if the definition is no longer at this revision. */
  if_revision?: number | undefined;
}

export interface ApplyDefinitionResponse {
  /** False if nothing had to change. */
  changed: boolean;
  changes: DefinitionChange[];
  /** What is not a mistake but worth knowing. */
  notices: FileProblem[];
  /** The revision in force. */
  revision: number;
  unused: string[];
}

export interface ArtifactItem {
  artifact_type: Open<ArtifactType>;
  created_at: string;
  data: ArtifactItemData;
}

export interface ArtifactItemData {
  /** Of PLAN, SCREENSHOT and FILE. */
  artifact_uid?: string;
  /** Of PULL_REQUEST; empty when it is not known. */
  branch?: string;
  description?: string;
  /** Of PLAN. */
  document_uid?: string;
  /** Of FILE. */
  filename?: string;
  /** Of FILE. */
  filepath?: string;
  /** Of FILE and SCREENSHOT. */
  mime_type?: string;
  /** Of EXTERNAL_REFERENCE. */
  reference_type?: string;
  /** Of FILE. */
  size_bytes?: number;
  /** Of PULL_REQUEST. */
  status?: Open<"open" | "draft" | "merged" | "closed" | "unknown">;
  title?: string;
  /** Of PULL_REQUEST, PLAN and EXTERNAL_REFERENCE. */
  url?: string;
}

export interface ArtifactResponse {
  artifact_type: Open<ArtifactType>;
  artifact_uid: string;
  created_at: string;
  data: ArtifactResponseData;
}

export interface ArtifactResponseData {
  /** Of PLAN, in Markdown. */
  content?: string;
  content_type: string;
  description?: string;
  /** Of PLAN. */
  document_uid?: string;
  /** Of FILE and SCREENSHOT; needs no key, and no longer works after expires_at. */
  download_url?: string;
  expires_at?: string;
  filename?: string;
  filepath?: string;
  /** Of PLAN. */
  notebook_uid?: string;
  size_bytes?: number;
  title?: string;
  url?: string;
}

/** The kind of an artifact. */
export type ArtifactType = "PLAN" | "PULL_REQUEST" | "SCREENSHOT" | "FILE" | "EXTERNAL_REFERENCE";

export interface AttachmentInput {
  /** Base64, padded, without line breaks. */
  data: string;
  /** Its name in the workspace; no slashes. */
  file_name: string;
  mime_type: string;
}

export interface AuditEntry {
  action: string;
  actor: RunCreatorInfo;
  detail?: Record<string, string>;
  id: string;
  key_id?: string;
  remote_addr?: string;
  request_id?: string;
  target_id?: string;
  target_type?: string;
  time: string;
}

export interface AutoMemory {
  enabled: boolean;
}

export interface AutoMemoryRequest {}

export interface Automation {
  /** The name of an agent of the factory; empty means the foreman. */
  agent: string;
  concurrency?: Concurrency;
  /** What the automation says about the configuration of its runs. */
  config?: AmbientAgentConfig;
  created_at: string;
  enabled: boolean;
  factory_uid: string;
  /** 0 means no limit. */
  max_runs_per_hour: number;
  name: string;
  /** The parts that have no effect on this server, and why, such as triggers that never fire. Not in lists. */
  notices?: string[];
  prompt: string;
  /** In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the automation to read all of it. */
  prompt_truncated?: boolean;
  /** The title of its runs; if absent, it comes from the sending provider, or is the name. */
  title?: string;
  triggers: Trigger[];
  uid: string;
  updated_at: string;
}

export interface Budget {
  /** US dollars; 0 means no limit. */
  max_cost_usd?: number | undefined;
  /** Tokens both ways; 0 means no limit. */
  max_tokens?: number | undefined;
}

export interface CancelFilter {
  /** All descendants of this run. */
  ancestor_run_id?: string | undefined;
  /** Runs that have such an artifact. */
  artifact_type?: ArtifactType | undefined;
  automation_id?: string | undefined;
  /** The same as name. */
  config_name?: string | undefined;
  /** Inclusive. */
  created_after?: string | undefined;
  /** Exclusive. */
  created_before?: string | undefined;
  /** The uid of a principal. */
  creator?: string | undefined;
  delivery_id?: string | undefined;
  /** empty-environment selects runs without one. */
  environment_id?: string | undefined;
  execution_location?: "LOCAL" | "REMOTE" | undefined;
  /** The uid of a principal. */
  executor?: string | undefined;
  /** Only runs of a factory. */
  factory_only?: boolean | undefined;
  /** Repeatable. */
  factory_uid?: string[] | undefined;
  /** metadata[KEY]=VALUE, at most 5; exact, all must hold. */
  metadata?: Record<string, string> | undefined;
  model_id?: string | undefined;
  /** Equals config.name. */
  name?: string | undefined;
  /** Children of this run. */
  parent_run_id?: string | undefined;
  /** Words of title, name, skill and the start of the prompt; also an exact run id. */
  q?: string | undefined;
  schedule_id?: string | undefined;
  /** owner/repo:path or owner/repo:name; finds runs that were started with either. */
  skill?: string | undefined;
  /** The same as skill. */
  skill_spec?: string | undefined;
  /** Repeatable. */
  source?: RunSourceType[] | undefined;
  /** Repeatable. */
  state?: RunState[] | undefined;
  /** Repeatable. */
  task_status?: TaskStatus[] | undefined;
  /** Inclusive. */
  updated_after?: string | undefined;
  /** Exclusive. */
  updated_before?: string | undefined;
  webhook_id?: string | undefined;
  /** hosted for the server's own workers. */
  worker_host?: string | undefined;
}

export interface CancelRunsRequest {
  /** Answers with the runs that would be cancelled, and cancels none. */
  dry_run?: boolean | undefined;
  /** The conditions of the list; at least one. Runs that have ended are left alone. */
  filter: CancelFilter;
}

export interface CancelRunsResponse {
  /** The ids of the runs that were cancelled. */
  cancelled: string[];
  /** With dry_run: the ids of the runs that would be cancelled. */
  would_cancel?: string[];
}

/** The allowed values, as a list, or as in and not_in; null and empty lists allow everything. If an event has several values, one must be in in and none in not_in; an event without values fails in and passes not_in. Values are texts; those of pr_numbers are whole numbers. */
export type Choice = (string | number)[] | {
  in?: (string | number)[];
  not_in?: (string | number)[];
};

export interface CloudEnvironment {
  config: CloudEnvironmentConfig;
  creator: RunCreatorInfo;
  last_editor: RunCreatorInfo;
  last_task_created?: EnvironmentTask;
  /** When its newest run was created; null when there is none. */
  last_task_run_timestamp: string | null;
  last_updated: string;
  /** How its newest runs found it; not in lists. */
  prepared?: EnvironmentStarts;
  scope: Scope;
  /** The newest run in it could not be set up. */
  setup_failed: boolean;
  /** 22 letters and digits, for environment_id of a run. */
  uid: string;
}

export interface CloudEnvironmentConfig {
  description?: string | null | undefined;
  /** For workers that isolate agents in containers; others do not use it. */
  docker_image?: string | undefined;
  /** The name of a managed secret to clone with: a token, user:token, or a private key. Agents do not get it. */
  git_credentials?: string | undefined;
  /** Cloned into the workspace, each into a folder of its name. */
  github_repos?: GithubRepo[] | undefined;
  name: string;
  /** Run instead of setup_commands if the workspace was prepared for an older commit; if empty, setup_commands run. At most 4096 characters each. */
  refresh_commands?: string[] | undefined;
  /** Managed secrets that every run in this environment gets as variables. */
  secrets?: SecretRef[] | undefined;
  /** Run in order by sh in the workspace, each in its own shell. The first that fails ends the run. At most 4096 characters each. */
  setup_commands?: string[] | undefined;
}

export interface ColdStart {
  reason: string;
  run_id: string;
  time: string;
  worker_host: string;
}

export interface Concurrency {
  key: string;
  /** What happens to a run whose key is taken; queue by default. */
  policy?: Open<"queue" | "skip" | "cancel_previous" | "followup"> | undefined;
}

export interface ConcurrencyUpdate {
  /** Empty removes the rule. */
  key: string;
  policy?: "queue" | "skip" | "cancel_previous" | "followup" | undefined;
}

export interface ConnectedSelfHostedWorker {
  /** How many runs its connections can take at once. */
  capacity: number;
  connected_at: string;
  connection_count: number;
  /** What its connections say about their machines, each KEY=VALUE. */
  labels: string[];
  last_seen_at: string;
  /** How many they hold now. */
  load: number;
  worker_host: string;
}

export interface ConversationContent {
  /** Of action_result: the id of its action. */
  action_id?: string;
  /** Of action and action_result. */
  category?: Open<"command" | "files" | "search" | "integration" | "documents" | "computer" | "review" | "skill">;
  /** Of event. */
  data?: Record<string, unknown>;
  /** Of action. */
  id?: string;
  /** Of action. */
  input?: Record<string, unknown>;
  /** The id of the event. */
  message_id?: string;
  /** Of action, action_result and event. */
  name?: string;
  /** Of action_result. */
  output?: Record<string, unknown>;
  /** Of action_result. */
  state?: Open<"running" | "completed" | "failed" | "denied">;
  /** Of text. */
  text?: string;
  type: Open<"text" | "action" | "action_result" | "event">;
}

export interface ConversationFollowupResponse {
  /** Null when the message became part of the prompt. */
  followup_id: string | null;
  outcome: Open<"queued_prompt" | "live_session" | "handoff_execution" | "queue_pending">;
  run_id: string;
}

export interface ConversationMessage {
  content: ConversationContent[];
  /** The ids of the events it is made of. */
  message_ids?: string[];
  role: Open<"user" | "assistant" | "tool" | "system">;
  timestamp?: string;
}

export interface ConversationRedirect {
  session_id?: string;
}

export interface ConversationResponse {
  conversation_id: string;
  /** For a conversation that is too long for one answer: it ends with an event block named truncated, and next_cursor continues it. */
  page_info?: PageInfo;
  steps: ConversationStep[];
}

export interface ConversationStep {
  completed_at?: string;
  id: string;
  messages: ConversationMessage[];
  started_at?: string;
  /** Steps within this one; always empty here. */
  steps: ConversationStep[];
}

export interface CreateAPIKeyRequest {
  /** If absent, never. */
  expires_at?: string | undefined;
  /** Limits the key to these factories and their runs; all when absent. */
  factory_uids?: string[] | undefined;
  name: string;
  /** Who the key acts as; a service account with the key's name when absent. */
  owner?: KeyOwner | undefined;
  role: KeyRole;
  /** For role worker: the ids it may claim for. */
  worker_ids?: string[] | undefined;
}

export interface CreateAgentRequest {
  agent_type?: AgentType | undefined;
  /**
   * The type of harness; use harness.
   * @deprecated
   */
  base_harness?: "" | "oz" | "builtin" | "claude" | "codex" | "gemini" | "opencode" | "shell" | "command" | "acp" | undefined;
  /** The language model for the built-in agent; not together with another harness. */
  base_model?: string | undefined;
  /** Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422. */
  credential_strategy?: "EXECUTOR" | null | undefined;
  /** A runner of its factory. */
  default_runner_uid?: string | undefined;
  description?: string | undefined;
  /** The environment of its runs. */
  environment_id?: string | undefined;
  /** The factory it belongs to; without one it belongs to the whole team. */
  factory_uid?: string | undefined;
  harness?: Harness | undefined;
  /** Tool servers by name, or a list of them in which each has a name. */
  mcp_servers?: Record<string, MCPServerConfig> | unknown[] | undefined;
  memory?: AgentMemoryRequest | undefined;
  /** Unique in the factory, or among the agents that belong to no factory. */
  name: string;
  /** Put before the prompt of each of its runs. */
  prompt?: string | undefined;
  /** Managed secrets that its runs get as variables. */
  secrets?: SecretRef[] | undefined;
  /** Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one of its factory's. */
  skills?: string[] | undefined;
  /** The worker for its runs. */
  worker_host?: string | undefined;
}

export interface CreateAutomationRequest {
  /** The name of an agent of the factory; the foreman when absent. */
  agent?: string | undefined;
  /** Its key may contain {{payload.path}}, filled in from each delivery. */
  concurrency?: Concurrency | undefined;
  /** Takes precedence over the agent and the factory. */
  config?: AmbientAgentConfig | undefined;
  /** True when absent. */
  enabled?: boolean | undefined;
  /** 0 means no limit. */
  max_runs_per_hour?: number | undefined;
  /** Unique in the factory; also a file name of its definition. */
  name: string;
  prompt: string;
  /** The title of its runs; may contain {{payload.path}}. If absent, it comes from the sending provider, or is the name. */
  title?: string | undefined;
  triggers: Trigger[];
}

export interface CreateFactoryRequest {
  /** Letters, digits, spaces, '.', '_' and '-'; unique whatever its case. */
  alias?: string | undefined;
  description?: string | undefined;
  name: string;
  /** What the factory follows; without it the factory is edited here. Its definition is applied as soon as it has been read. */
  repository?: RepositorySource | undefined;
}

export interface CreateNotificationRequest {
  /** True in place of factory_uids: all runs, as when both are absent. */
  all_factories?: boolean | undefined;
  description?: string | undefined;
  /** True when absent. */
  enabled?: boolean | undefined;
  /** Runs of these factories; if absent, all runs. A key that is limited to factories must name some of them. */
  factory_uids?: string[] | undefined;
  /** The host of the URL when absent. */
  name?: string | undefined;
  /** Runs with this configuration name. */
  run_name?: string | undefined;
  /** The secret to sign with: whsec_ and base64. Generated when absent. */
  secret?: string | undefined;
  /** Changes to these states; if absent, every state. */
  states?: RunState[] | undefined;
  /** Where callbacks are sent: https and a public address, unless the server runs with --callback-allow-private. Callers who may not manage factories see only its host. */
  url: string;
}

export interface CreateScheduledAgentRequest {
  agent_config?: AmbientAgentConfig | undefined;
  /** The agent for its runs. */
  agent_uid?: string | undefined;
  /** Five cron fields, @daily and the like, or @every 1h. */
  cron_schedule: string;
  /** True when absent. */
  enabled?: boolean | undefined;
  /** Given to its runs. */
  metadata?: Record<string, string> | undefined;
  /** Only normal is supported; plan and orchestrate get 422. */
  mode?: "normal" | undefined;
  name: string;
  /** skip or queue: what happens while the last run is live. If absent, the next one starts anyway. Not together with agent_config.concurrency. */
  overlap?: "" | "skip" | "queue" | undefined;
  /** Required unless agent_config names a skill. */
  prompt?: string | undefined;
  /** Accepted; every schedule belongs to the team. */
  team?: boolean | undefined;
  /** An IANA name such as Europe/Berlin; UTC when absent. */
  timezone?: string | undefined;
}

export interface CreateSecretRequest {
  /** granted: only runs whose factory, agent or automation names it; runs: anyone who may start a run may name it. */
  access?: "granted" | "runs" | undefined;
  description?: string | undefined;
  /** Also the name of the variable that a run gets. */
  name: string;
  /** Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read again. */
  value: string;
}

export interface CreateWebhookRequest {
  /** token when absent. */
  auth_mode?: WebhookAuthMode | undefined;
  /** The header that identifies a delivery. */
  delivery_id_header?: string | undefined;
  /** True when absent. */
  enabled?: boolean | undefined;
  /** Only for signature_scheme hmac, which requires it. */
  hmac?: WebhookHMAC | undefined;
  /** 262144 when absent. */
  max_body_bytes?: number | undefined;
  /** Unique in the factory; also a file name of its definition. It cannot be changed. */
  name: string;
  /** Deliveries per minute; 0 means no limit. 60 if absent. */
  rate_limit?: number | undefined;
  /** A body that was accepted before is a duplicate under any delivery id. */
  replay_guard?: boolean | undefined;
  /** The secret to use. If absent, a new one is generated, that of secret_name is used, or the provider's comes later with rotateWebhook. */
  secret?: string | undefined;
  /** The managed secret to use or create. If absent, NAME_WEBHOOK_SECRET. */
  secret_name?: string | undefined;
  /** Required with auth_mode signature, refused otherwise. */
  signature_scheme?: SignatureScheme | undefined;
}

export interface CreatedAPIKey {
  created_at: string;
  expires_at?: string;
  factory_uids?: string[];
  /** The first characters of the key, to recognise it by. */
  hint?: string;
  id: string;
  /** The key. It is shown only now and cannot be read again. */
  key: string;
  last_used_at?: string;
  name: string;
  owner: RunCreatorInfo;
  revoked_at?: string;
  role: Open<KeyRole>;
  worker_ids?: string[];
}

export interface DeferredResolution {
  column: number;
  field: string;
  kind: string;
  line: number;
  path: string;
  value: string;
}

export interface DefinitionBacktest {
  action: Open<"add" | "change" | "remove">;
  automation: string;
  /** How many stored deliveries were checked. */
  deliveries: number;
  /** How many of them start no run now and would start one. */
  starts: number;
  /** How many of them start a run now and would not. */
  stops: number;
  /** There are more deliveries; only the newest were checked. */
  truncated: boolean;
}

export interface DefinitionChange {
  action: Open<"add" | "change" | "remove">;
  /** Of a part that is changed: what differs. */
  fields?: DefinitionFieldChange[];
  file: string;
  kind: Open<"factory" | "agent" | "automation" | "webhook" | "runner" | "skill" | "scorer" | "benchmark">;
  name: string;
  note?: string;
}

export interface DefinitionFieldChange {
  after?: string;
  before?: string;
  field: string;
}

export interface DefinitionRequest {
  /** Texts by path, such as factory.yaml and agents/foreman/agent.md. */
  files: Record<string, string>;
}

export interface DefinitionRevision {
  actor: RunCreatorInfo;
  comment?: string;
  /** The commit in the repository that the factory follows. */
  commit?: string;
  created_at: string;
  file_count: number;
  number: number;
  source: Open<"edit" | "apply" | "rollback" | "repository">;
}

export interface DefinitionRevisionDetail {
  actor: RunCreatorInfo;
  comment?: string;
  /** The commit in the repository that the factory follows. */
  commit?: string;
  created_at: string;
  file_count: number;
  files: Record<string, string>;
  number: number;
  source: Open<"edit" | "apply" | "rollback" | "repository">;
}

export interface DeleteScheduledAgentResponse {
  success: boolean;
}

export interface Delivery {
  /** Milliseconds from its arrival until it was written. */
  answer_ms?: number;
  /** The status that the sender got; absent if there was no sender. */
  answer_status?: number;
  delivery_id: string;
  /** The first delivery with this identity. */
  duplicate_of?: string;
  /** The event that GitHub or GitLab named in its header, such as pull_request. */
  event?: string;
  /** What identifies this delivery; empty for refused ones. */
  identity: string;
  /** Where the identity was found. */
  identity_source: string;
  /** How many automations of the webhook did not match. */
  not_matched: number;
  outcomes: DeliveryOutcome[];
  received_at: string;
  /** The delivery that this one repeats on request. */
  redelivery_of?: string;
  remote_addr: string;
  /** Bytes of the body, as far as they were read. */
  size: number;
  status: Open<DeliveryStatus>;
  /** A test that the server sent itself, on request. */
  test?: boolean;
}

export interface DeliveryDetail {
  /** Milliseconds from its arrival until it was written. */
  answer_ms?: number;
  /** The status that the sender got; absent if there was no sender. */
  answer_status?: number;
  delivery_id: string;
  /** The first delivery with this identity. */
  duplicate_of?: string;
  /** The event that GitHub or GitLab named in its header, such as pull_request. */
  event?: string;
  /** What identifies this delivery; empty for refused ones. */
  identity: string;
  /** Where the identity was found. */
  identity_source: string;
  /** How many automations of the webhook did not match. */
  not_matched: number;
  /** With explain: which automations do not match now, and why. */
  not_matched_automations?: MissedAutomation[];
  /** More automations do not match than are listed. */
  not_matched_truncated?: boolean;
  outcomes: DeliveryOutcome[];
  /** The body, of accepted deliveries only. */
  payload?: unknown;
  received_at: string;
  /** The delivery that this one repeats on request. */
  redelivery_of?: string;
  remote_addr: string;
  /** At most 8 KiB; credentials and signatures are masked. */
  request_headers?: Record<string, string>;
  /** Bytes of the body, as far as they were read. */
  size: number;
  status: Open<DeliveryStatus>;
  /** A test that the server sent itself, on request. */
  test?: boolean;
}

export interface DeliveryOutcome {
  /** Absent for a handshake. */
  automation_id?: string;
  automation_name?: string;
  /** Why no run was started. */
  reason?: string;
  result: Open<OutcomeResult>;
  /** The run that was started, or that got a follow-up. */
  run_id?: string;
}

/** The result of a request. Requests that got 404 or 429 are not in the log. */
export type DeliveryStatus = "accepted" | "duplicate" | "rejected_auth" | "rejected_invalid_json" | "rejected_too_large";

export interface Diagnostic {
  code: string;
  column: number;
  line: number;
  message: string;
  path: string;
}

export interface EgressRangesResponse {
  /** Always empty: a self-hosted server connects from wherever its workers are. */
  cidrs: string[];
}

export interface EnvironmentRequest {
  config: CloudEnvironmentConfig;
}

export interface EnvironmentStarts {
  /** Starts from nothing. */
  cold: number;
  /** The newest 10. */
  cold_starts: ColdStart[];
  /** The last 10 that were used; a worker may have removed some. */
  layers: PreparedLayer[];
  /** Starts on what was prepared for an older commit. */
  newer: number;
  /** How much longer cold starts would have taken. */
  saved_seconds: number;
  /** Starts on what was prepared before. */
  warm: number;
}

export interface EnvironmentTask {
  created_at: string;
  id: string;
  started_at: string | null;
  state: Open<RunState>;
  title: string;
  updated_at: string;
}

export interface Error {
  /** The code, as in the last segment of type. */
  code: string;
  /** What is wrong with this request; begins with the path of the field to blame, if one is. */
  detail?: string;
  /** Title and detail in one line. */
  error: string;
  /** The path of the request. */
  instance?: string;
  /** Of a definition with mistakes: all of them. */
  problems?: FileProblem[];
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** The HTTP status. */
  status: number;
  /** What kind of failure this is; the same for every error of this code. */
  title: string;
  /** Finds the request in the server's log. */
  trace_id?: string;
  /** Address of the page that explains this error; its last segment is the code. */
  type: string;
}

export interface Factory {
  /** A short name, unique whatever its case; null when there is none. */
  alias: string | null;
  created_at: string;
  /** Once its runs have used this much since 00:00 UTC, it starts no more; absent if there is none. */
  daily_budget?: Budget;
  description: string | null;
  /** The name of the agent that gets work that names no agent. */
  foreman_agent: string;
  /** managed is edited here, repository in a Git repository. */
  mode: Open<"managed" | "repository">;
  name: string;
  /** While true its automations start no runs; deliveries are still accepted and logged. */
  paused: boolean;
  /** How far it has followed its repository; absent when it is managed. */
  repository?: FactoryRepository;
  /** Grows with every change to the factory or a part of it. */
  revision: number;
  /** What its runs have used since 00:00 UTC; not in lists. */
  spent_today?: Spending;
  uid: string;
  updated_at: string;
}

export interface FactoryDefinition {
  files: Record<string, string>;
  revision: number;
}

export interface FactoryRepository {
  /** When the commit in force was applied. */
  applied_at?: string;
  /** The commit that is in force; absent before the first. */
  applied_commit?: string;
  /** Absent for the repository's default branch. */
  branch?: string;
  /** When the repository was last checked. */
  checked_at?: string;
  /** Why the repository could not be read when it was last tried. */
  fault?: string;
  /** Absent for the root. */
  path?: string;
  /** Why the commit that was seen is not in force, by place in the repository. */
  problems: FileProblem[];
  /** The newest commit that was checked. */
  seen_commit?: string;
  url: string;
}

export interface FactoryRunRequest {
  /** What to do; the foreman gets it as it is. */
  prompt: string;
  /** What the work is for, as source:id, such as linear:ENG-42. Made when absent. */
  ticket_ref?: string | undefined;
  ticket_url?: string | undefined;
  /** Made from the prompt when absent. */
  title?: string | undefined;
}

export interface FactoryRunResponse {
  factory_uid: string;
  /** The name of the agent that the work went to. */
  foreman_agent: string;
  run_id: string;
  /** The page on this server that shows the run. */
  run_url?: string;
  state: Open<RunState>;
  ticket_ref: string;
}

export interface FileProblem {
  code?: string;
  column: number;
  file: string;
  hint?: string;
  line: number;
  message: string;
}

export interface FilterCheck {
  /** Any JSON value. */
  expected: unknown;
  /** object: the field has conditions below it, but is not an object. */
  operator: Open<"in" | "not_in" | "exists" | "object">;
  passed: boolean;
  /** webhook, signature_scheme, event, the name of a set such as labels, or the path of the field from payload. */
  path: string;
  /** The value that was found; absent when there is none. Long values are cut. */
  seen?: unknown;
}

export interface FilterFieldSpec {
  /** The key that it stands for; use only one of the two. */
  alias_of?: string;
  description: string;
  /** How it may be written: list, in, not_in. */
  forms: string[];
  /** How values are compared: as they are, in any case, as patterns with * and **, or as part of the text. */
  match: Open<"exact" | "any_case" | "pattern" | "part">;
  name: string;
  /** Why events usually do not have it. */
  notice?: string;
  required: boolean;
  /** Of each value. */
  type: Open<"string" | "integer">;
  /** What a value is. */
  value: string;
}

export interface FollowupAttachmentInput {
  /** Base64, padded, without line breaks. Required. */
  data: string;
  /** Its name in the workspace; no slashes. Required. */
  file_name: string;
  /** Required. */
  mime_type: string;
}

export interface GithubRepo {
  owner: string;
  repo: string;
}

export interface HandoffAttachment {
  attachment_id: string;
  /** Needs no key; works for a quarter of an hour. */
  download_url: string;
  filename: string;
  mime_type?: string;
}

export interface HandoffAttachmentsResponse {
  attachments: HandoffAttachment[];
}

export interface Harness {
  auth?: HarnessAuth | undefined;
  /** The program of the command and acp harnesses, with its arguments. */
  command?: string[] | undefined;
  /** How to talk to claude, codex, gemini and opencode. By default, over the Agent Client Protocol if its program is installed, else with the agent's own command. */
  mode?: Open<"acp" | "command"> | undefined;
  /** The model, for agents other than the built-in one. */
  model_id?: string | undefined;
  /** The answer when the agent asks for permission: ask makes the run BLOCKED until a follow-up answers. The server's permission-policy by default. */
  permissions?: Open<"allow" | "deny" | "ask"> | undefined;
  reasoning_level?: string | undefined;
  type?: Open<HarnessType> | undefined;
}

export interface HarnessAuth {
  /** The managed secret; with managedSecret. */
  secret_name?: string | undefined;
  /** managedSecret takes the key from a managed secret, workerEnvironment from the environment of a self-hosted worker. Without it, the worker's key is used, whatever the wider layers say. */
  source?: Open<"managedSecret" | "workerEnvironment"> | undefined;
}

export interface HarnessInfo {
  available: boolean;
  /** What is missing. */
  problem?: string;
  type: Open<HarnessType>;
}

/** The adapter that drives the agent; oz is another name of builtin. */
export type HarnessType = "shell" | "command" | "builtin" | "oz" | "acp" | "claude" | "codex" | "gemini" | "opencode" | "goose";

export interface IssuedNotification {
  /** Runs of all factories, and runs without one. */
  all_factories?: boolean;
  created_at: string;
  description: string;
  disabled_at?: string;
  /** Why the server disabled it; absent if a person did. */
  disabled_reason?: string;
  enabled: boolean;
  /** Runs of these factories; empty with all_factories. */
  factory_uids: string[];
  id: string;
  last_failure_at?: string;
  last_success_at?: string;
  name: string;
  /** Until when the secret before the last rotation also signs. */
  old_secret_until?: string;
  /** Runs with this configuration name; empty means any. */
  run_name: string;
  /** The signing secret, if the server generated it. It is shown only now. */
  secret?: string;
  /** Changes to these states; empty means every state. */
  states: (Open<RunState>)[];
  updated_at: string;
  url: string;
}

export interface IssuedWebhook {
  auth_mode: Open<WebhookAuthMode>;
  created_at: string;
  delivery_id_header?: string;
  /** A disabled webhook answers 404. */
  enabled: boolean;
  factory_uid: string;
  hmac?: WebhookHMAC;
  /** Where deliveries are sent. For a url_token webhook it ends in the placeholder {token}, except in the answer that shows the secret. */
  ingress_url: string;
  max_body_bytes: number;
  name: string;
  /** The provider's secret is still missing: give it to rotateWebhook. */
  needs_secret: boolean;
  /** When the secret before the last rotation ends; absent when only the newest counts. */
  old_secret_until?: string;
  /** Deliveries per minute; 0 means no limit. */
  rate_limit: number;
  replay_guard: boolean;
  /** The secret, if the server generated it. It is shown only now. */
  secret?: string;
  /** The managed secret that keeps the credential. */
  secret_name: string;
  signature_scheme?: Open<SignatureScheme>;
  uid: string;
  updated_at: string;
}

export interface KeyLimits {
  /** The factories that the key reaches; if absent, all, or none for a run token. */
  factory_uids?: string[];
  /** If absent, there is no limit. */
  requests_per_minute?: number;
  /** The worker ids that a worker key may claim for. */
  worker_ids?: string[];
}

export interface KeyOwner {
  display_name?: string | undefined;
  email?: string | undefined;
  type: "user" | "service_account";
  /** If absent, a new one. A key that is limited to factories may name only its own owner. */
  uid?: string | undefined;
}

/** What a key may do. A worker key claims runs and nothing else. */
export type KeyRole = "viewer" | "member" | "manager" | "admin" | "worker";

export interface ListAPIKeysResponse {
  apikeys: APIKey[];
  page_info: PageInfo;
}

export interface ListAgentIdentitiesResponse {
  agents: AgentResponse[];
  /** Absent if the list is complete. */
  page_info?: PageInfo;
}

export interface ListAgentsResponse {
  agents: AgentListItem[];
  /** There are more, perhaps of the last name; absent if the list is complete. */
  page_info?: PageInfo;
}

export interface ListAuditResponse {
  entries: AuditEntry[];
  page_info: PageInfo;
}

export interface ListAutomationsResponse {
  automations: Automation[];
  page_info: PageInfo;
}

export interface ListDeliveriesResponse {
  deliveries: Delivery[];
  page_info: PageInfo;
}

export interface ListEnvironmentsResponse {
  environments: CloudEnvironment[];
}

export interface ListFactoriesResponse {
  factories: Factory[];
  page_info: PageInfo;
}

export interface ListFactoryDeliveriesResponse {
  deliveries: LoggedDelivery[];
  page_info: PageInfo;
}

export interface ListModelsResponse {
  default_model_id: string;
  harnesses?: HarnessInfo[];
  models: ModelInfo[];
}

export interface ListNotificationDeliveriesResponse {
  deliveries: NotificationDelivery[];
  page_info: PageInfo;
}

export interface ListNotificationsResponse {
  notifications: Notification[];
  page_info: PageInfo;
}

export interface ListRevisionsResponse {
  page_info: PageInfo;
  revisions: DefinitionRevision[];
}

export interface ListRunEventsResponse {
  events: RunEvent[];
  page_info: PageInfo;
}

export interface ListRunsResponse {
  page_info: PageInfo;
  runs: RunItem[];
}

export interface ListScheduledAgentsResponse {
  /** Absent if the list is complete. */
  page_info?: PageInfo;
  schedules: ScheduledAgentItem[];
}

export interface ListSecretsResponse {
  page_info: PageInfo;
  secrets: Secret[];
}

export interface ListTriggerEventsResponse {
  events: TriggerEvent[];
  provider: string;
}

export interface ListWebhooksResponse {
  page_info: PageInfo;
  webhooks: Webhook[];
}

export interface ListWorkersResponse {
  workers: ConnectedSelfHostedWorker[];
}

export interface LoggedDelivery {
  /** Milliseconds from its arrival until it was written. */
  answer_ms?: number;
  /** The status that the sender got; absent if there was no sender. */
  answer_status?: number;
  delivery_id: string;
  /** The first delivery with this identity. */
  duplicate_of?: string;
  /** The event that GitHub or GitLab named in its header, such as pull_request. */
  event?: string;
  /** What identifies this delivery; empty for refused ones. */
  identity: string;
  /** Where the identity was found. */
  identity_source: string;
  /** How many automations of the webhook did not match. */
  not_matched: number;
  outcomes: DeliveryOutcome[];
  received_at: string;
  /** The delivery that this one repeats on request. */
  redelivery_of?: string;
  remote_addr: string;
  /** Bytes of the body, as far as they were read. */
  size: number;
  status: Open<DeliveryStatus>;
  /** A test that the server sent itself, on request. */
  test?: boolean;
  webhook_id: string;
  webhook_name: string;
}

export interface MCPServerConfig {
  /** With command. */
  args?: string[] | undefined;
  command?: string | undefined;
  /** With command. Values may contain {{SECRET_NAME}}; literal values are shown as ***. */
  env?: Record<string, string> | undefined;
  /** With url. Values may contain {{SECRET_NAME}}; literal values are shown as ***. */
  headers?: Record<string, string> | undefined;
  /** Only in the list form, where it is required. */
  name?: string | undefined;
  url?: string | undefined;
  /** The id of a managed server. */
  warp_id?: string | undefined;
}

export interface MissedAutomation {
  automation_id: string;
  automation_name: string;
  /** The checks that fail. */
  checks: MissedCheck[];
}

export interface MissedCheck {
  /** Any JSON value. */
  expected: unknown;
  /** object: the field has conditions below it, but is not an object. */
  operator: Open<"in" | "not_in" | "exists" | "object">;
  passed: boolean;
  /** webhook, signature_scheme, event, the name of a set such as labels, or the path of the field from payload. */
  path: string;
  /** The value that was found; absent when there is none. Long values are cut. */
  seen?: unknown;
  /** Which of the automation's triggers, from 0. */
  trigger: number;
}

export interface ModelInfo {
  description?: string;
  disable_reason?: Open<"PROVIDER_OUTAGE" | "OUT_OF_REQUESTS" | "ADMIN_DISABLED" | "REQUIRES_UPGRADE">;
  display_name: string;
  id: string;
  provider: Open<"OPENAI" | "ANTHROPIC" | "GOOGLE" | "UNKNOWN">;
  reasoning_level?: string;
  vision_supported: boolean;
}

export interface ModelTokenUsage {
  /** Tokens whose price was not known: they are not in the cost. */
  cost_unknown_tokens?: number;
  inference_cost_usd: number;
  model_id: string;
  /** input, input_cache_read and output; the first leaves out the second. */
  tokens_by_category?: Record<string, number>;
  total_tokens: number;
  usage_type: Open<"custom_endpoint">;
}

export interface Notification {
  /** Runs of all factories, and runs without one. */
  all_factories?: boolean;
  created_at: string;
  description: string;
  disabled_at?: string;
  /** Why the server disabled it; absent if a person did. */
  disabled_reason?: string;
  enabled: boolean;
  /** Runs of these factories; empty with all_factories. */
  factory_uids: string[];
  id: string;
  last_failure_at?: string;
  last_success_at?: string;
  name: string;
  /** Until when the secret before the last rotation also signs. */
  old_secret_until?: string;
  /** Runs with this configuration name; empty means any. */
  run_name: string;
  /** Changes to these states; empty means every state. */
  states: (Open<RunState>)[];
  updated_at: string;
  url: string;
}

export interface NotificationAttempt {
  duration_ms: number;
  error?: string;
  number: number;
  /** Absent when there was no answer. */
  status_code?: number;
  time: string;
}

export interface NotificationDelivery {
  attempt_count: number;
  created_at: string;
  /** The id of the event in the log of the run; sent as webhook-id. */
  event_id: string;
  finished_at?: string;
  id: string;
  last_error?: string;
  /** Absent when there was no answer. */
  last_status_code?: number;
  /** For a pending delivery: when it is tried next. During an attempt: when another one may be made. */
  next_attempt_at?: string;
  notification_id: string;
  /** Absent in a test. */
  run_id?: string;
  /** The state that the run changed to; absent in a test. */
  state?: Open<RunState>;
  status: Open<NotificationStatus>;
  type: Open<"run.state_changed" | "notification.test">;
}

export interface NotificationDeliveryDetail {
  attempt_count: number;
  /** The newest 50, in order. */
  attempts: NotificationAttempt[];
  created_at: string;
  /** The id of the event in the log of the run; sent as webhook-id. */
  event_id: string;
  finished_at?: string;
  id: string;
  last_error?: string;
  /** Absent when there was no answer. */
  last_status_code?: number;
  /** For a pending delivery: when it is tried next. During an attempt: when another one may be made. */
  next_attempt_at?: string;
  notification_id: string;
  /** The body as it is sent; null once the run was deleted. */
  payload: unknown;
  /** Absent in a test. */
  run_id?: string;
  /** The state that the run changed to; absent in a test. */
  state?: Open<RunState>;
  status: Open<NotificationStatus>;
  type: Open<"run.state_changed" | "notification.test">;
}

/** The status of a delivery to an endpoint. A pending one is waiting for its first or next attempt. */
export type NotificationStatus = "pending" | "delivered" | "failed";

/** What an automation did with a delivery. filtered appears only in dry runs: the log counts those in not_matched. */
export type OutcomeResult = "started" | "skipped" | "followed_up" | "handshake" | "disabled" | "limit" | "error" | "filtered";

export interface PageInfo {
  has_next_page: boolean;
  /** Opaque; give it as cursor with the same filters and order. */
  next_cursor?: string;
}

export interface PlanDefinitionResponse {
  backtests: DefinitionBacktest[];
  changes: DefinitionChange[];
  /** What is not a mistake but worth knowing, such as keys without effect on this server. */
  notices: FileProblem[];
  /** Always empty: a folder with mistakes is answered with 400. */
  problems: FileProblem[];
  /** The revision in force; give it to apply as if_revision. 0 for a factory that does not exist yet. */
  revision: number;
  unused: string[];
}

/** Why something failed; /docs/errors/ explains each. */
export type PlatformErrorCode = "invalid_request" | "authentication_required" | "not_authorized" | "feature_not_available" | "budget_exceeded" | "resource_not_found" | "method_not_allowed" | "conflict" | "payload_too_large" | "operation_not_supported" | "idempotency_mismatch" | "resource_unavailable" | "internal_error" | "environment_setup_failed" | "agent_process_failed" | "run_timeout" | "infrastructure_timeout";

export interface PreparedLayer {
  /** What it takes on the disk. */
  bytes: number;
  files: number;
  /** How many of the runs started on it. */
  hits: number;
  last_used_at: string;
  /** Names it on its worker. */
  name: string;
  saved_seconds: number;
  worker_host: string;
}

export interface PublishedFolder {
  /** Texts by path, such as factory.yaml and agents/foreman/agent.md, or a list of {path, content}. */
  files: Record<string, string> | ({
    content: string;
    path: string;
  })[];
}

export interface RedeliverRequest {
  /** Shows what would happen and stores nothing. */
  dry_run?: boolean | undefined;
}

export interface RedeliverResponse {
  /** The new delivery; in a dry run the old one. */
  delivery_id: string;
  /** In a dry run, including automations that do not match. */
  outcomes: DeliveryOutcome[];
}

export interface RepositorySource {
  /** The branch that is followed; the repository's default one when absent. */
  branch?: string | undefined;
  /** The folder of the definition; the root when absent. */
  path?: string | undefined;
  /** An https or ssh address without credentials. */
  url: string;
}

export interface RequestUsage {
  /** At the prices that the operator has set; models without a price are left out. */
  inference_cost_usd: number;
  /** For each model; only when you get a single run. */
  model_token_usage?: ModelTokenUsage[];
  total_tokens: number;
}

export interface Retry {
  /** 1 by default. */
  max_attempts?: number | undefined;
}

export interface RotateNotificationRequest {
  /** How long callbacks are also signed with the old secret; if absent, it ends at once. */
  overlap_seconds?: number | undefined;
  /** The new secret: whsec_ and base64. Generated when absent. */
  secret?: string | undefined;
}

export interface RotateWebhookRequest {
  /** How long the old secret stays valid; if absent, it ends at once. */
  overlap_seconds?: number | undefined;
  /** The new secret; generated when absent. Required for schemes whose provider makes it. */
  secret?: string | undefined;
}

export interface RunAgentRequest {
  /** An agent: the run takes its configuration and belongs to its factory. */
  agent_identity_uid?: string | undefined;
  /** Files for the workspace, at most 10 MB in total. */
  attachments?: AttachmentInput[] | undefined;
  config?: AmbientAgentConfig | undefined;
  /** Continues a conversation. */
  conversation_id?: string | undefined;
  /** Accepted; it changes nothing: every run takes follow-ups while it works. */
  interactive?: boolean | undefined;
  /** Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256 bytes. */
  metadata?: Record<string, string> | undefined;
  /** Only normal is supported; plan and orchestrate get 422. */
  mode?: "normal" | undefined;
  parent_run_id?: string | undefined;
  /** What to do, at most 1 MiB. Required unless a skill or conversation_id is given. */
  prompt?: string | undefined;
  /** A skill, owner/repo:name or owner/repo:path; takes precedence over those in config. You may leave out the owner of a repository in the run's environment or factory. */
  skill?: string | undefined;
  /** Accepted; every run belongs to the team. */
  team?: boolean | undefined;
  /** Made from the prompt when absent. */
  title?: string | undefined;
}

export interface RunAgentResponse {
  /** No worker slot was free; the run waits for one. */
  at_capacity: boolean;
  run_id: string;
  state: Open<RunState>;
  /**
   * The same as run_id.
   * @deprecated
   */
  task_id: string;
}

export interface RunCreatorInfo {
  display_name?: string;
  email?: string;
  type?: Open<"user" | "service_account">;
  uid?: string;
}

export interface RunFollowupRequest {
  attachments?: FollowupAttachmentInput[] | undefined;
  /** The message to the agent. May be empty when there is an attachment. */
  message?: string | undefined;
  /** Only normal is supported; plan and orchestrate get 422. */
  mode?: "normal" | undefined;
}

export interface RunFollowupResponse {
  /** Null when the message became part of the prompt. */
  followup_id: string | null;
  outcome: Open<"queued_prompt" | "live_session" | "handoff_execution" | "queue_pending">;
}

export interface RunItem {
  /** The resolved configuration. */
  agent_config?: AmbientAgentConfig;
  /** With explain=1: for each field of agent_config, where its value came from. */
  agent_config_origins?: Record<string, string>;
  /** The first skill of the run, once it is known. */
  agent_skill?: AgentSkill;
  artifacts?: ArtifactItem[];
  /** Which of the runs with the same request this is, from 1. */
  attempt?: number;
  /** The run whose workspace and messages this one continues. */
  continues_run_id?: string;
  conversation_id?: string;
  created_at: string;
  creator: RunCreatorInfo;
  execution_location: Open<"LOCAL" | "REMOTE">;
  executor?: RunCreatorInfo;
  factory_uid?: string;
  /** When a terminal state was last reached; null while the run is active. */
  finished_at: string | null;
  /** Whether runs of this kind can be cancelled at all, whatever their state. */
  is_run_type_cancellable: boolean;
  /** Whether a worker still holds a live agent process. */
  is_sandbox_running: boolean;
  /** Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256 bytes. */
  metadata?: Record<string, string>;
  parent_run_id?: string;
  /** The agent's task. */
  prompt: string;
  /** In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the run to read all of it. */
  prompt_truncated?: boolean;
  request_usage?: RequestUsage;
  /** The first run with the same request, if this is a rerun. */
  rerun_of?: string;
  /** Only when you get a single run: the later runs with its request, at most the first 100. */
  reruns?: RunRerun[];
  /** The run at the top of the tree; run_id itself at the top. */
  root_run_id: string;
  run_id: string;
  /** ISO 8601 duration, summed over the executions that have ended. */
  run_time?: string;
  /** The schedule that started the run. */
  schedule?: RunSchedule;
  scope: Scope;
  session_id?: string;
  /** The page on this server that shows the live session. */
  session_link?: string;
  source: Open<RunSourceType>;
  /** When an agent first began work; null until then. */
  started_at?: string | null;
  state: Open<RunState>;
  status_message: RunStatusMessage;
  /** The prompt as sent, with the follow-ups that came before the start. */
  submitted_prompt?: string;
  /**
   * The same as run_id.
   * @deprecated
   */
  task_id: string;
  title: string;
  /** Changes with state, title and follow-ups, not with every event. */
  updated_at: string;
}

export interface RunReference {
  run_id: string;
}

export interface RunReportRequest {
  /** Of notice; info by default. */
  level?: "info" | "warning" | "error" | undefined;
  /** Of a plan: all of them, each time. */
  steps?: RunReportStep[] | undefined;
  /** Of message and notice. */
  text?: string | undefined;
  type: "message" | "notice" | "plan" | "pull_request" | "reference";
  /** Of pull_request and reference. */
  url?: string | undefined;
}

export interface RunReportResponse {
  /** The artifact that the report created. */
  artifact_uid?: string;
  run_id: string;
}

export interface RunReportStep {
  priority?: "high" | "medium" | "low" | undefined;
  /** pending by default. */
  state?: "pending" | "in_progress" | "completed" | undefined;
  text: string;
}

export interface RunRerun {
  attempt: number;
  run_id: string;
  state: Open<RunState>;
}

export interface RunSchedule {
  cron_schedule: string;
  schedule_id: string;
  schedule_name: string;
  /** The time that the run is for, by the wall clock of the schedule's time zone. */
  slot?: string;
}

/** The order of the list; agent orders by skill, runs without one last. */
export type RunSortBy = "updated_at" | "created_at" | "title" | "agent";

/** Where a run came from. The list may grow. */
export type RunSourceType = "API" | "CLI" | "WEB_APP" | "SCHEDULED_AGENT" | "CUSTOM_WEBHOOK" | "ORCHESTRATION" | "MCP" | "LOCAL" | "GITHUB_WEBHOOK" | "GITLAB_WEBHOOK" | "LINEAR" | "SLACK" | "GITHUB_ACTION" | "CLOUD_MODE" | "JIRA" | "SELF_IMPROVEMENT" | "AUTOFIX" | "RUN_SCORER" | "TEAMS" | "AZURE_DEVOPS_WEBHOOK" | "BENCHMARK_TRIAL" | "CREATE_BENCHMARK_TASK";

/** The state of a run. SUCCEEDED, FAILED, ERROR and CANCELLED runs have ended. */
export type RunState = "QUEUED" | "PENDING" | "CLAIMED" | "INPROGRESS" | "BLOCKED" | "SUCCEEDED" | "FAILED" | "ERROR" | "CANCELLED";

export interface RunStatusMessage {
  error_code?: Open<PlatformErrorCode>;
  message: string;
  /** For ended runs: submitting the work again may succeed. */
  retryable?: boolean;
}

export interface ScheduleHistory {
  /** When it last started a run; null if it never did. */
  last_ran: string | null;
  /** Null while it is paused. */
  next_run: string | null;
}

export interface ScheduledAgentItem {
  agent_config?: AmbientAgentConfig;
  agent_uid?: string;
  created_at: string;
  created_by: RunCreatorInfo;
  cron_schedule: string;
  enabled: boolean;
  /** The environment of agent_config, as it is now. */
  environment?: CloudEnvironmentConfig;
  history: ScheduleHistory;
  id: string;
  /** Why it started no run at its last time; null if it did. */
  last_spawn_error: string | null;
  /** Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256 bytes. */
  metadata?: Record<string, string>;
  name: string;
  /** What happens while the last run is live; if absent, the next one starts anyway. */
  overlap?: Open<"skip" | "queue">;
  prompt: string;
  /** In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too long to be shown in full. Get the schedule to read all of it. */
  prompt_truncated?: boolean;
  scope: Scope;
  /** An IANA name; absent is UTC. */
  timezone?: string;
  updated_at: string;
  updated_by: RunCreatorInfo;
}

export interface SchemaDocuments {
  /** The names of the schemas in URLs. */
  documents: string[];
  schemas: Record<string, Record<string, unknown>>;
  version: string;
}

export interface SchemaVersions {
  current_version: string;
  versions: string[];
}

export interface Scope {
  type: Open<"User" | "Team">;
  uid?: string;
}

export interface Secret {
  /** granted: only runs whose factory, agent or automation names it; runs: anyone who may start a run may name it. */
  access: Open<"granted" | "runs">;
  created_at: string;
  description?: string;
  /** webhook: the credential of a webhook, which no run gets. */
  kind: Open<"managed" | "webhook">;
  name: string;
  updated_at: string;
}

export interface SecretRef {
  name: string;
}

export interface SessionRedirect {
  conversation_id?: string;
}

/** How the sender signs; hmac takes its settings from hmac. The list may grow. */
export type SignatureScheme = "bitbucket" | "buildkite" | "calendly" | "circleci" | "discord" | "dropbox" | "github" | "gitlab" | "grafana" | "hmac" | "hubspot" | "intercom" | "jira" | "linear" | "pagerduty" | "sentry" | "shopify" | "slack" | "square" | "standard_webhooks" | "stripe" | "twilio" | "typeform" | "vercel" | "zoom";

export interface Spending {
  /** US dollars, as far as prices are known. */
  cost_usd: number;
  /** Tokens both ways. */
  tokens: number;
}

/** A group of run states. */
export type TaskStatus = "running" | "failed" | "blocked" | "cancelled" | "complete";

export interface TestFilterRequest {
  /** A stored delivery of the factory. This or payload. */
  delivery_id?: string | undefined;
  /** The trigger's event, such as issue_opened. */
  event?: string | undefined;
  /** As in a trigger. If it names no webhooks, it listens to all of them. */
  filter: TriggerFilter;
  /** Any JSON value. This or delivery_id. */
  payload?: unknown;
  /** The event in the provider's header with this payload, such as issues for GitHub; a stored delivery has its own. */
  payload_event?: string | undefined;
  /** The trigger's provider: webhook if absent, github, gitlab, linear, slack or jira. */
  provider?: "" | "webhook" | "github" | "gitlab" | "linear" | "slack" | "jira" | undefined;
  /** The webhook that gets the payload; if absent, the webhook check passes. */
  webhook_id?: string | undefined;
}

export interface TestFilterResponse {
  /** The webhook first, then every condition of the filter. */
  checks: FilterCheck[];
  would_trigger: boolean;
}

export interface TestWebhookRequest {
  /** The text to send as the body. Absent: an example of what the provider sends. */
  body?: string | undefined;
  /** The event in the provider's header, such as issues. */
  event?: string | undefined;
}

export interface TestWebhookResponse {
  /** The resulting delivery. */
  delivery_id?: string;
  /** Why the webhook refused it. */
  detail?: string;
  /** The HTTP status of the answer. */
  status: number;
}

export interface TimelineEvent {
  event_type: Open<"oz_run_created" | "oz_run_queued" | "oz_run_pending" | "oz_run_claimed" | "worker_container_ready" | "shared_session_started" | "agent_started" | "oz_run_done" | "oz_run_blocked" | "oz_run_cancelled" | "oz_run_failed" | "oz_run_errored" | "vm_shutdown">;
  event_uuid: string;
  /** Counts the executions of the run from 1; payload.execution_id has the id. */
  execution_id?: number;
  occurred_at: string;
  /** from, state, message, error_code, worker and execution_id, as far as they are known. */
  payload?: Record<string, unknown>;
  run_id: string;
}

export interface TimelineResponse {
  events: TimelineEvent[];
}

export interface Trigger {
  /** received for webhook, cron_fired for schedule, finished for run; for others, for example, issue_opened, pull_request_*, push, app_mention. GET /factory/automations/events/{provider} lists them. */
  event: string;
  filter?: TriggerFilter | undefined;
  /** webhook, schedule, run, github, gitlab, linear, slack or jira. teams, azure_devops and factory are kept and never fire. */
  provider: Open<"webhook" | "schedule" | "run" | "github" | "gitlab" | "linear" | "slack" | "jira" | "teams" | "azure_devops" | "factory">;
  /** For provider schedule only: a cron expression (five fields, @daily and the like, or @every 1h), or an object with cron, timezone (an IANA name; UTC when absent), overlap (skip or queue) and name (what distinguishes it from other schedules of the automation). */
  schedule?: string | {
    cron: string;
    name?: string | undefined;
    overlap?: Open<"skip" | "queue"> | undefined;
    timezone?: string | undefined;
  } | undefined;
}

export interface TriggerEvent {
  /** Its name; * stands for any event of a provider whose events are not known. */
  event: string;
  /** What each of the keys is. */
  filter_field_specs: FilterFieldSpec[];
  /** The keys that its filters may have. */
  filter_fields: string[];
  /** Why a trigger with it never fires here. */
  notice?: string;
}

/** Which events count; all keys must match. The keys of each event are in GET /factory/automations/events/{provider}; any other is refused. */
export interface TriggerFilter {
  /** Of gitlab: What was done to the merge request, in GitLab's words. */
  actions?: unknown;
  /** Of run: Agents of the run that has finished, by name. */
  agents?: unknown;
  /** Of linear: Who the issue is assigned to, by id. */
  assignee_ids?: unknown;
  /** Of github: Who the issue or pull request is assigned to. Of azure_devops: Who the work item is assigned to. */
  assignees?: unknown;
  /** Of github: Who wrote the issue, pull request or comment, or pushed. Of gitlab: Who did it. Of azure_devops: Who wrote it. */
  authors?: unknown;
  /** Of run: Automations of the run that has finished, by name. */
  automations?: unknown;
  /** Of github: Another spelling of base_branches. */
  baseBranches?: unknown;
  /** Of github: Branches that the pull request goes to. Of gitlab: Branches that the merge request goes to. Of azure_devops: Branches that the pull request goes to. */
  base_branches?: unknown;
  /** Of github: Branches of the pull request or push. Of gitlab: Branches of the merge request, push or pipeline. Of azure_devops: Branches that were pushed. */
  branches?: unknown;
  /** Of slack: Channels, by id. Of teams: Channels, by id such as 19:…@thread.tacv2. */
  channel_ids?: unknown;
  /** Of slack: Slack channels, by name. */
  channels?: unknown;
  /** Of github: How the check, workflow or pipeline ended. Of gitlab: How the pipeline, job or deployment ended. */
  conclusions?: unknown;
  /** Of linear: Who wrote the issue or comment, or began the session, by id. */
  creator_ids?: unknown;
  /** Of slack: Names of emojis; colons and skin tones mean nothing. */
  emojis?: unknown;
  /** Of run: Factories of the run that has finished, by uid. */
  factories?: unknown;
  /** Of linear: Issues that the comment is on, by id. */
  issue_ids?: unknown;
  /** Of linear: Issues that the comment is on, such as ENG-12, or by title. */
  issues?: unknown;
  /** Of slack: Who wrote what the reaction is to, by name. */
  itemUsers?: unknown;
  /** Of slack: Who wrote what the reaction is to, by id. */
  item_user_ids?: unknown;
  /** Of linear, slack, jira, teams: Parts of the text, in any case. */
  keywords?: unknown;
  /** Of github: Labels of the issue or pull request. Of gitlab: Labels of the issue or merge request. Of linear: Labels of the issue, by name. Of jira: Labels of the issue; case matters. Of azure_devops: Labels of the work item. */
  labels?: unknown;
  /** Of github, azure_devops: Who is mentioned. */
  mentioned?: unknown;
  /** Of linear: Who is mentioned, by id. */
  mentioned_user_ids?: unknown;
  /** Of github, gitlab: Files that the push changes. */
  paths?: unknown;
  /** An object that mirrors the body: keys AND; a value is an array (any of these scalars), an object of the operators in, not_in and exists, or another object that nests. At most 10 deep, 64 conditions, 32 values each. Absent matches every delivery. */
  payload?: Record<string, unknown> | undefined;
  /** Of github: Another spelling of pr_numbers. */
  prNumbers?: unknown;
  /** Of github: Numbers of pull requests. */
  pr_numbers?: unknown;
  /** Of linear: Projects, by id. */
  project_ids?: unknown;
  /** Of jira: Projects, by key. */
  project_keys?: unknown;
  /** Of linear: Linear projects, by name. */
  projects?: unknown;
  /** Of github: Repositories, as owner/name. Of gitlab: Repositories, with all groups. Of azure_devops: Repositories. */
  repos?: unknown;
  /** Of github: What the review says. */
  review_states?: unknown;
  /** Of github: Teams that are asked for a review. */
  reviewer_teams?: unknown;
  /** Of github: Who is asked for a review. */
  reviewers?: unknown;
  /** Of schedule: Schedules that exist already, instead of an inline schedule. */
  schedule_ids?: unknown;
  /** Of azure_devops: Repositories that the pull request comes from. */
  source_repos?: unknown;
  /** Of factory: Stages that the work item gets to. */
  stages?: unknown;
  /** Of linear: States of the issue, by id. */
  state_ids?: unknown;
  /** Of run: States that the run ended in. Of linear: States of the issue, by name. */
  states?: unknown;
  /** Of jira: Statuses that the issue gets, by id. */
  status_ids?: unknown;
  /** Of linear: Teams, by id. Of teams: The team, by its id. */
  team_ids?: unknown;
  /** Of linear: Linear teams, by name or key. */
  teams?: unknown;
  /** Of slack: Who did it, by id. Of teams: Who wrote it, by id. */
  user_ids?: unknown;
  /** Of slack: Slack users, by name. */
  users?: unknown;
  /** Webhooks of this factory by uid, as a list or as in. With webhooks, 1 to 50 in all. */
  webhook_ids?: string[] | {
    in?: string[] | undefined;
  } | undefined;
  /** Webhooks of this factory by name. */
  webhooks?: string[] | undefined;
  /** Of github: Workflows, by name. */
  workflows?: unknown;
}

export interface UpdateAgentRequest {
  /** FOREMAN replaces the current foreman. */
  agent_type?: AgentType | undefined;
  /**
   * The type of harness; use harness.
   * @deprecated
   */
  base_harness?: "" | "oz" | "builtin" | "claude" | "codex" | "gemini" | "opencode" | "shell" | "command" | "acp" | undefined;
  /** The language model for the built-in agent; not together with another harness. */
  base_model?: string | undefined;
  /** Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422. */
  credential_strategy?: "EXECUTOR" | null | undefined;
  /** A runner of its factory. */
  default_runner_uid?: string | undefined;
  description?: string | undefined;
  /** The environment of its runs. */
  environment_id?: string | undefined;
  harness?: Harness | undefined;
  /** Tool servers by name, or a list of them in which each has a name. */
  mcp_servers?: Record<string, MCPServerConfig> | unknown[] | undefined;
  memory?: AgentMemoryRequest | undefined;
  /** References to the old name in the factory follow. */
  name?: string | undefined;
  /** Put before the prompt of each of its runs. */
  prompt?: string | undefined;
  /** Managed secrets that its runs get as variables. */
  secrets?: SecretRef[] | undefined;
  /** Skills of its runs in order: owner/repo:name, owner/repo:path, or the name of one of its factory's. */
  skills?: string[] | undefined;
  /** The worker for its runs. */
  worker_host?: string | undefined;
}

export interface UpdateAutomationRequest {
  /** Empty means the foreman. */
  agent?: string | undefined;
  concurrency?: ConcurrencyUpdate | undefined;
  config?: AmbientAgentConfig | undefined;
  enabled?: boolean | undefined;
  max_runs_per_hour?: number | undefined;
  name?: string | undefined;
  prompt?: string | undefined;
  /** If empty, it comes from the provider, or is the name. */
  title?: string | undefined;
  triggers?: Trigger[] | undefined;
}

export interface UpdateFactoryRequest {
  /** Empty removes it. */
  alias?: string | undefined;
  /** The whole new budget; null or an empty object removes it. */
  daily_budget?: Budget | null | undefined;
  /** Empty removes it. */
  description?: string | undefined;
  name?: string | undefined;
  /** Stops or resumes the factory's automations. */
  paused?: boolean | undefined;
  /** What the factory follows from now on; null makes it a managed one with the definition that is in force. */
  repository?: RepositorySource | null | undefined;
}

export interface UpdateNotificationRequest {
  /** True in place of factory_uids: all runs from now on. */
  all_factories?: boolean | undefined;
  description?: string | undefined;
  /** When it is enabled again, it gets at once the pending deliveries that are younger than 72 hours. */
  enabled?: boolean | undefined;
  /** Replaced as a whole. */
  factory_uids?: string[] | undefined;
  name?: string | undefined;
  /** Empty means any. */
  run_name?: string | undefined;
  /** Replaced as a whole; empty means every state. */
  states?: RunState[] | undefined;
  /** Pending deliveries also go there. */
  url?: string | undefined;
}

export interface UpdateScheduledAgentRequest {
  agent_config?: AmbientAgentConfig | undefined;
  agent_uid?: string | undefined;
  cron_schedule: string;
  enabled: boolean;
  /** Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256 bytes. */
  metadata?: Record<string, string> | undefined;
  /** Only normal is supported; plan and orchestrate get 422. */
  mode?: "normal" | undefined;
  name: string;
  /** skip or queue. */
  overlap?: "" | "skip" | "queue" | undefined;
  prompt?: string | undefined;
  timezone?: string | undefined;
}

export interface UpdateSecretRequest {
  /** granted: only runs whose factory, agent or automation names it; runs: anyone who may start a run may name it. */
  access?: "granted" | "runs" | undefined;
  description?: string | undefined;
  /** Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read again. */
  value?: string | undefined;
}

export interface UpdateWebhookRequest {
  /** Another mode gets 422. */
  auth_mode?: WebhookAuthMode | undefined;
  /** Empty removes it. */
  delivery_id_header?: string | undefined;
  /** Enabling it uses the current value of the managed secret. */
  enabled?: boolean | undefined;
  /** Replaced as a whole. */
  hmac?: WebhookHMAC | undefined;
  max_body_bytes?: number | undefined;
  /** Another name gets 422: create a second webhook instead. */
  name?: string | undefined;
  rate_limit?: number | undefined;
  replay_guard?: boolean | undefined;
  /** Always gets 400: use rotateWebhook. */
  secret?: null | undefined;
  /** Another managed secret, which must exist; its value counts from now on. */
  secret_name?: string | undefined;
  /** Another scheme gets 422. */
  signature_scheme?: SignatureScheme | undefined;
}

export interface ValidateDefinitionResponse {
  /** What is not a mistake but worth knowing, such as keys without effect on this server. */
  notices: FileProblem[];
  problems: FileProblem[];
  /** Files that are accepted and not used. */
  unused: string[];
  valid: boolean;
}

export interface ValidateFilesResponse {
  /** What is looked up when the definition is applied. */
  deferred_resolutions: DeferredResolution[];
  /** The problems that can be found without a server. */
  diagnostics: Diagnostic[];
  /** What is not a mistake but worth knowing, such as keys without effect on this server. */
  notices: FileProblem[];
  problems: FileProblem[];
  schema_version: string;
  /** Files that are accepted and not used. */
  unused: string[];
  valid: boolean;
}

export interface VariantEnvironment {
  name: string;
  uid: string;
}

export interface Webhook {
  auth_mode: Open<WebhookAuthMode>;
  created_at: string;
  delivery_id_header?: string;
  /** A disabled webhook answers 404. */
  enabled: boolean;
  factory_uid: string;
  hmac?: WebhookHMAC;
  /** Where deliveries are sent. For a url_token webhook it ends in the placeholder {token}, except in the answer that shows the secret. */
  ingress_url: string;
  max_body_bytes: number;
  name: string;
  /** The provider's secret is still missing: give it to rotateWebhook. */
  needs_secret: boolean;
  /** When the secret before the last rotation ends; absent when only the newest counts. */
  old_secret_until?: string;
  /** Deliveries per minute; 0 means no limit. */
  rate_limit: number;
  replay_guard: boolean;
  /** The managed secret that keeps the credential. */
  secret_name: string;
  signature_scheme?: Open<SignatureScheme>;
  uid: string;
  updated_at: string;
}

/** How a sender proves who it is: a bearer token, a token at the end of the URL, or a signature. */
export type WebhookAuthMode = "token" | "url_token" | "signature";

export interface WebhookHMAC {
  /** sha256 (default), sha1, sha384 or sha512. */
  digest?: Open<"" | "sha256" | "sha1" | "sha384" | "sha512"> | undefined;
  /** hex (default) or base64. */
  encoding?: Open<"" | "hex" | "base64"> | undefined;
  /** Carries the signature. */
  header: string;
  /** Carries the delivery id; needed for {id}. */
  id_header?: string | undefined;
  /** Comes before the signature, such as sha256=. */
  prefix?: string | undefined;
  /** What is signed: {body} (default), or that with {timestamp}, {id}, {method} and {url}. */
  template?: string | undefined;
  /** Carries the time in Unix seconds or milliseconds; needed for {timestamp}. */
  timestamp_header?: string | undefined;
}

export interface WhoamiResponse {
  key_id?: string;
  limits: KeyLimits;
  permissions: string[];
  principal: RunCreatorInfo;
  role: Open<"viewer" | "member" | "manager" | "admin" | "worker" | "run">;
  /** The run whose token this is. */
  run_id?: string;
}
