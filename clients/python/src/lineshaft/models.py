"""What the server answers. Made by scripts/generate.py; do not edit.

Enums are open: a newer server may send further values, so fields are also str.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, List, Optional, Union

from pydantic import Field
from typing_extensions import Literal

from ._model import Model


KeyRole = Literal["viewer", "member", "manager", "admin", "worker"]
"""What a key may do. A worker key claims runs and nothing else."""


class RunCreatorInfo(Model):
    display_name: Optional[str] = None
    email: Optional[str] = None
    type: Optional[Union[Literal["user", "service_account"], str]] = None
    uid: Optional[str] = None


class APIKey(Model):
    created_at: datetime
    expires_at: Optional[datetime] = None
    factory_uids: Optional[List[str]] = None
    hint: Optional[str] = None
    """The first characters of the key, to recognise it by."""
    id: str
    last_used_at: Optional[datetime] = None
    name: str
    owner: RunCreatorInfo
    revoked_at: Optional[datetime] = None
    role: Union[KeyRole, str]
    worker_ids: Optional[List[str]] = None


class AgentVariantSource(Model):
    commit: Optional[str] = None
    """The commit that was read."""
    name: str
    owner: str
    skill_path: str


class VariantEnvironment(Model):
    name: str
    uid: str


class AgentVariant(Model):
    base_prompt: str
    """The text of the skill."""
    description: str
    environments: List[VariantEnvironment]
    """The environments that have the repository."""
    error: Optional[str] = None
    """With include_malformed_skills: why it cannot be used."""
    id: str
    """What to give as skill."""
    last_run_timestamp: Optional[datetime]
    """When the newest run with it that you may see was created; null if there is none."""
    source: AgentVariantSource


class AgentListItem(Model):
    name: str
    variants: List[AgentVariant]


class AutoMemory(Model):
    enabled: bool


class AgentMemory(Model):
    attached_stores: List[Dict[str, Any]]
    auto_memory: AutoMemory


AgentType = Literal["CUSTOM", "FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY"]
"""The type of an agent. A factory has exactly one FOREMAN."""


class HarnessAuth(Model):
    secret_name: Optional[str] = None
    """The managed secret; with managedSecret."""
    source: Optional[Union[Literal["managedSecret", "workerEnvironment"], str]] = None
    """managedSecret takes the key from a managed secret, workerEnvironment from the environment of
    a self-hosted worker. Without it, the worker's key is used, whatever the wider layers say."""


HarnessType = Literal[
    "shell", "command", "builtin", "oz", "acp", "claude", "codex", "gemini", "opencode", "goose"
]
"""The adapter that drives the agent; oz is another name of builtin."""


class Harness(Model):
    auth: Optional[HarnessAuth] = None
    auth_secret_name: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    command: Optional[List[str]] = None
    """The program of the command and acp harnesses, with its arguments."""
    mode: Optional[Union[Literal["acp", "command"], str]] = None
    """How to talk to claude, codex, gemini and opencode. By default, over the Agent Client Protocol
    if its program is installed, else with the agent's own command."""
    model_id: Optional[str] = None
    """The model, for agents other than the built-in one."""
    permissions: Optional[Union[Literal["allow", "deny", "ask"], str]] = None
    """The answer when the agent asks for permission: ask makes the run BLOCKED until a follow-up
    answers. The server's permission-policy by default."""
    reasoning_level: Optional[str] = None
    type: Optional[Union[HarnessType, str]] = None


class MCPServerConfig(Model):
    args: Optional[List[str]] = None
    """With command."""
    command: Optional[str] = None
    env: Optional[Dict[str, str]] = None
    """With command. Values may contain {{SECRET_NAME}}; literal values are shown as ***."""
    headers: Optional[Dict[str, str]] = None
    """With url. Values may contain {{SECRET_NAME}}; literal values are shown as ***."""
    name: Optional[str] = None
    """Only in the list form, where it is required."""
    url: Optional[str] = None
    warp_id: Optional[str] = None
    """The id of a managed server."""


class SecretRef(Model):
    name: str


class AgentResponse(Model):
    agent_type: Optional[Union[AgentType, str]] = None
    available: bool
    base_model: Optional[str] = None
    created_at: datetime
    default_runner_uid: str
    """Empty if there is none."""
    description: Optional[str] = None
    environment_id: Optional[str] = None
    factory_uid: Optional[str] = None
    """Absent for agents of the whole team."""
    harness: Optional[Harness] = None
    mcp_servers: Optional[Union[Dict[str, MCPServerConfig], List[Any]]] = None
    """Tool servers by name, or a list of them in which each has a name."""
    memory: AgentMemory
    name: str
    prompt: Optional[str] = None
    prompt_truncated: Optional[bool] = None
    """In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too
    long to be shown in full. Get the agent to read all of it."""
    secrets: List[SecretRef]
    skills: List[str]
    uid: str
    updated_at: datetime
    worker_host: Optional[str] = None


class DefinitionFieldChange(Model):
    after: Optional[str] = None
    before: Optional[str] = None
    field: str


class DefinitionChange(Model):
    action: Union[Literal["add", "change", "remove"], str]
    fields: Optional[List[DefinitionFieldChange]] = None
    """Of a part that is changed: what differs."""
    file: str
    kind: Union[Literal[
        "factory", "agent", "automation", "webhook", "runner", "skill", "scorer", "benchmark"
    ], str]
    name: str
    note: Optional[str] = None


class FileProblem(Model):
    code: Optional[str] = None
    column: int
    file: str
    hint: Optional[str] = None
    line: int
    message: str


class ApplyDefinitionResponse(Model):
    changed: bool
    """False if nothing had to change."""
    changes: List[DefinitionChange]
    notices: List[FileProblem]
    """What is not a mistake but worth knowing."""
    revision: int
    """The revision in force."""
    unused: List[str]


class ArtifactResponseData(Model):
    content: Optional[str] = None
    """Of PLAN, in Markdown."""
    content_type: str
    description: Optional[str] = None
    document_uid: Optional[str] = None
    """Of PLAN."""
    download_url: Optional[str] = None
    """Of FILE and SCREENSHOT; needs no key, and no longer works after expires_at."""
    expires_at: Optional[datetime] = None
    filename: Optional[str] = None
    filepath: Optional[str] = None
    notebook_uid: Optional[str] = None
    """Of PLAN."""
    size_bytes: Optional[int] = None
    title: Optional[str] = None
    url: Optional[str] = None


ArtifactType = Literal["PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "EXTERNAL_REFERENCE"]
"""The kind of an artifact."""


class ArtifactResponse(Model):
    artifact_type: Union[ArtifactType, str]
    artifact_uid: str
    created_at: datetime
    data: ArtifactResponseData


class AuditEntry(Model):
    action: str
    actor: RunCreatorInfo
    detail: Optional[Dict[str, str]] = None
    id: str
    key_id: Optional[str] = None
    remote_addr: Optional[str] = None
    request_id: Optional[str] = None
    target_id: Optional[str] = None
    target_type: Optional[str] = None
    time: datetime


class Budget(Model):
    max_cost_usd: Optional[float] = None
    """US dollars; 0 means no limit."""
    max_tokens: Optional[int] = None
    """Tokens both ways; 0 means no limit."""


class Concurrency(Model):
    key: str
    policy: Optional[Union[Literal[
        "queue", "skip", "cancel_previous", "followup"
    ], str]] = None
    """What happens to a run whose key is taken; queue by default."""


class Retry(Model):
    max_attempts: Optional[int] = None
    """1 by default."""


class AmbientAgentConfig(Model):
    base_prompt: Optional[str] = None
    """Text put before the prompt."""
    budget: Optional[Budget] = None
    computer_use_enabled: Optional[bool] = None
    computer_use_model_id: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    concurrency: Optional[Concurrency] = None
    credential_strategy: Optional[Union[Literal["EXECUTOR"], str]] = None
    """Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422."""
    environment_id: Optional[str] = None
    """The environment to work in."""
    experimental: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    harness: Optional[Harness] = None
    harness_auth_secrets: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    idle_timeout_minutes: Optional[int] = None
    """How long the workspace is kept after the run ended; 10 by default."""
    inference_providers: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    mcp_servers: Optional[Union[Dict[str, MCPServerConfig], List[Any]]] = None
    """Tool servers by name, or a list of them in which each has a name."""
    memory_stores: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    model_id: Optional[str] = None
    """The language model, for the built-in agent."""
    name: Optional[str] = None
    """A label for grouping; the list filters by it."""
    queue_timeout_minutes: Optional[int] = None
    """The longest it may wait for a worker; 1440 by default."""
    retry: Optional[Retry] = None
    runner_id: Optional[str] = None
    """The kind of machine to work on: the name or uid of a runner of the run's factory."""
    secrets: Optional[List[SecretRef]] = None
    """Managed secrets that the run gets as variables. A caller may name those with access runs;
    others come from the factory, agent, automation or environment."""
    session_sharing: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    skill_spec: Optional[str] = None
    """A skill, owner/repo:name or owner/repo:path. In answers, the first of skills."""
    skills: Optional[List[str]] = None
    """Skills in order; with skill_spec it comes first."""
    stall_minutes: Optional[int] = None
    """The longest it may show no progress; 10 by default."""
    timeout_minutes: Optional[int] = None
    """The longest the agent may work; 60 by default."""
    worker_host: Optional[str] = None
    """The id of a self-hosted worker; hosted, warp or nothing mean the server's own workers."""


class TriggerFilterWebhookIds(Model):
    in_: Optional[List[str]] = Field(default=None, alias="in")


class TriggerFilter(Model):
    """Which events count; all keys must match. The keys of each event are in GET
    /factory/automations/events/{provider}; any other is refused."""

    actions: Any = None
    """Of gitlab: What was done to the merge request, in GitLab's words."""
    agents: Any = None
    """Of run: Agents of the run that has finished, by name."""
    assignee_ids: Any = None
    """Of linear: Who the issue is assigned to, by id."""
    assignees: Any = None
    """Of github: Who the issue or pull request is assigned to. Of azure_devops: Who the work item
    is assigned to."""
    authors: Any = None
    """Of github: Who wrote the issue, pull request or comment, or pushed. Of gitlab: Who did it. Of
    azure_devops: Who wrote it."""
    automations: Any = None
    """Of run: Automations of the run that has finished, by name."""
    baseBranches: Any = None
    """Of github: Another spelling of base_branches."""
    base_branches: Any = None
    """Of github: Branches that the pull request goes to. Of gitlab: Branches that the merge request
    goes to. Of azure_devops: Branches that the pull request goes to."""
    branches: Any = None
    """Of github: Branches of the pull request or push. Of gitlab: Branches of the merge request,
    push or pipeline. Of azure_devops: Branches that were pushed."""
    channel_ids: Any = None
    """Of slack: Channels, by id. Of teams: Channels, by id such as 19:…@thread.tacv2."""
    channels: Any = None
    """Of slack: Slack channels, by name."""
    conclusions: Any = None
    """Of github: How the check, workflow or pipeline ended. Of gitlab: How the pipeline, job or
    deployment ended."""
    creator_ids: Any = None
    """Of linear: Who wrote the issue or comment, or began the session, by id."""
    emojis: Any = None
    """Of slack: Names of emojis; colons and skin tones mean nothing."""
    factories: Any = None
    """Of run: Factories of the run that has finished, by uid."""
    issue_ids: Any = None
    """Of linear: Issues that the comment is on, by id."""
    issues: Any = None
    """Of linear: Issues that the comment is on, such as ENG-12, or by title."""
    itemUsers: Any = None
    """Of slack: Who wrote what the reaction is to, by name."""
    item_user_ids: Any = None
    """Of slack: Who wrote what the reaction is to, by id."""
    keywords: Any = None
    """Of linear, slack, jira, teams: Parts of the text, in any case."""
    labels: Any = None
    """Of github: Labels of the issue or pull request. Of gitlab: Labels of the issue or merge
    request. Of linear: Labels of the issue, by name. Of jira: Labels of the issue; case matters. Of
    azure_devops: Labels of the work item."""
    mentioned: Any = None
    """Of github, azure_devops: Who is mentioned."""
    mentioned_user_ids: Any = None
    """Of linear: Who is mentioned, by id."""
    paths: Any = None
    """Of github, gitlab: Files that the push changes."""
    payload: Optional[Dict[str, Any]] = None
    """An object that mirrors the body: keys AND; a value is an array (any of these scalars), an
    object of the operators in, not_in and exists, or another object that nests. At most 10 deep, 64
    conditions, 32 values each. Absent matches every delivery."""
    prNumbers: Any = None
    """Of github: Another spelling of pr_numbers."""
    pr_numbers: Any = None
    """Of github: Numbers of pull requests."""
    project_ids: Any = None
    """Of linear: Projects, by id."""
    project_keys: Any = None
    """Of jira: Projects, by key."""
    projects: Any = None
    """Of linear: Linear projects, by name."""
    repos: Any = None
    """Of github: Repositories, as owner/name. Of gitlab: Repositories, with all groups. Of
    azure_devops: Repositories."""
    review_states: Any = None
    """Of github: What the review says."""
    reviewer_teams: Any = None
    """Of github: Teams that are asked for a review."""
    reviewers: Any = None
    """Of github: Who is asked for a review."""
    schedule_ids: Any = None
    """Of schedule: Schedules that exist already, instead of an inline schedule."""
    source_repos: Any = None
    """Of azure_devops: Repositories that the pull request comes from."""
    stages: Any = None
    """Of factory: Stages that the work item gets to."""
    state_ids: Any = None
    """Of linear: States of the issue, by id."""
    states: Any = None
    """Of run: States that the run ended in. Of linear: States of the issue, by name."""
    status_ids: Any = None
    """Of jira: Statuses that the issue gets, by id."""
    team_ids: Any = None
    """Of linear: Teams, by id. Of teams: The team, by its id."""
    teams: Any = None
    """Of linear: Linear teams, by name or key."""
    user_ids: Any = None
    """Of slack: Who did it, by id. Of teams: Who wrote it, by id."""
    users: Any = None
    """Of slack: Slack users, by name."""
    webhook_ids: Optional[Union[List[str], TriggerFilterWebhookIds]] = None
    """Webhooks of this factory by uid, as a list or as in. With webhooks, 1 to 50 in all."""
    webhooks: Optional[List[str]] = None
    """Webhooks of this factory by name."""
    workflows: Any = None
    """Of github: Workflows, by name."""


class TriggerSchedule(Model):
    cron: str
    name: Optional[str] = None
    overlap: Optional[Union[Literal["skip", "queue"], str]] = None
    timezone: Optional[str] = None


class Trigger(Model):
    event: str
    """received for webhook, cron_fired for schedule, finished for run; for others, for example,
    issue_opened, pull_request_*, push, app_mention. GET /factory/automations/events/{provider}
    lists them."""
    filter: Optional[TriggerFilter] = None
    provider: Union[Literal[
        "webhook", "schedule", "run", "github", "gitlab", "linear", "slack", "jira", "teams",
        "azure_devops", "factory"
    ], str]
    """webhook, schedule, run, github, gitlab, linear, slack or jira. teams, azure_devops and
    factory are kept and never fire."""
    schedule: Optional[Union[str, TriggerSchedule]] = None
    """For provider schedule only: a cron expression (five fields, @daily and the like, or @every
    1h), or an object with cron, timezone (an IANA name; UTC when absent), overlap (skip or queue)
    and name (what distinguishes it from other schedules of the automation)."""


class Automation(Model):
    agent: str
    """The name of an agent of the factory; empty means the foreman."""
    concurrency: Optional[Concurrency] = None
    config: Optional[AmbientAgentConfig] = None
    """What the automation says about the configuration of its runs."""
    created_at: datetime
    enabled: bool
    factory_uid: str
    max_runs_per_hour: int
    """0 means no limit."""
    name: str
    notices: Optional[List[str]] = None
    """The parts that have no effect on this server, and why, such as triggers that never fire. Not
    in lists."""
    prompt: str
    prompt_truncated: Optional[bool] = None
    """In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too
    long to be shown in full. Get the automation to read all of it."""
    title: Optional[str] = None
    """The title of its runs; if absent, it comes from the sending provider, or is the name."""
    triggers: List[Trigger]
    uid: str
    updated_at: datetime


class CancelRunsResponse(Model):
    cancelled: List[str]
    """The ids of the runs that were cancelled."""
    would_cancel: Optional[List[str]] = None
    """With dry_run: the ids of the runs that would be cancelled."""


class GithubRepo(Model):
    owner: str
    repo: str


class CloudEnvironmentConfig(Model):
    description: Optional[str] = None
    docker_image: Optional[str] = None
    """For workers that isolate agents in containers; others do not use it."""
    failure_session_retention_minutes: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    git_credentials: Optional[str] = None
    """The name of a managed secret to clone with: a token, user:token, or a private key. Agents do
    not get it."""
    github_repos: Optional[List[GithubRepo]] = None
    """Cloned into the workspace, each into a folder of its name."""
    name: str
    providers: Optional[Union[str, Any]] = None
    """Not offered by this server: a value is refused with 422 operation_not_supported."""
    refresh_commands: Optional[List[str]] = None
    """Run instead of setup_commands if the workspace was prepared for an older commit; if empty,
    setup_commands run. At most 4096 characters each."""
    secrets: Optional[List[SecretRef]] = None
    """Managed secrets that every run in this environment gets as variables."""
    setup_commands: Optional[List[str]] = None
    """Run in order by sh in the workspace, each in its own shell. The first that fails ends the
    run. At most 4096 characters each."""


class ColdStart(Model):
    reason: str
    run_id: str
    time: datetime
    worker_host: str


class PreparedLayer(Model):
    bytes: int
    """What it takes on the disk."""
    files: int
    hits: int
    """How many of the runs started on it."""
    last_used_at: datetime
    name: str
    """Names it on its worker."""
    saved_seconds: float
    worker_host: str


class EnvironmentStarts(Model):
    cold: int
    """Starts from nothing."""
    cold_starts: List[ColdStart]
    """The newest 10."""
    layers: List[PreparedLayer]
    """The last 10 that were used; a worker may have removed some."""
    newer: int
    """Starts on what was prepared for an older commit."""
    saved_seconds: float
    """How much longer cold starts would have taken."""
    warm: int
    """Starts on what was prepared before."""


RunState = Literal[
    "QUEUED", "PENDING", "CLAIMED", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "ERROR",
    "CANCELLED"
]
"""The state of a run. SUCCEEDED, FAILED, ERROR and CANCELLED runs have ended."""


class EnvironmentTask(Model):
    created_at: datetime
    id: str
    started_at: Optional[datetime]
    state: Union[RunState, str]
    title: str
    updated_at: datetime


class Scope(Model):
    type: Union[Literal["User", "Team"], str]
    uid: Optional[str] = None


class CloudEnvironment(Model):
    config: CloudEnvironmentConfig
    creator: RunCreatorInfo
    last_editor: RunCreatorInfo
    last_task_created: Optional[EnvironmentTask] = None
    last_task_run_timestamp: Optional[datetime]
    """When its newest run was created; null when there is none."""
    last_updated: datetime
    prepared: Optional[EnvironmentStarts] = None
    """How its newest runs found it; not in lists."""
    scope: Scope
    setup_failed: bool
    """The newest run in it could not be set up."""
    uid: str
    """22 letters and digits, for environment_id of a run."""


class ConnectedSelfHostedWorker(Model):
    capacity: int
    """How many runs its connections can take at once."""
    connected_at: datetime
    connection_count: int
    labels: List[str]
    """What its connections say about their machines, each KEY=VALUE."""
    last_seen_at: datetime
    load: int
    """How many they hold now."""
    worker_host: str


class ConversationFollowupResponse(Model):
    followup_id: Optional[str]
    """Null when the message became part of the prompt."""
    outcome: Union[Literal[
        "queued_prompt", "live_session", "handoff_execution", "queue_pending"
    ], str]
    run_id: str


class ConversationContent(Model):
    action_id: Optional[str] = None
    """Of action_result: the id of its action."""
    category: Optional[Union[Literal[
        "command", "files", "search", "integration", "documents", "computer", "review", "skill"
    ], str]] = None
    """Of action and action_result."""
    data: Optional[Dict[str, Any]] = None
    """Of event."""
    id: Optional[str] = None
    """Of action."""
    input: Optional[Dict[str, Any]] = None
    """Of action."""
    message_id: Optional[str] = None
    """The id of the event."""
    name: Optional[str] = None
    """Of action, action_result and event."""
    output: Optional[Dict[str, Any]] = None
    """Of action_result."""
    state: Optional[Union[Literal["running", "completed", "failed", "denied"], str]] = None
    """Of action_result."""
    text: Optional[str] = None
    """Of text."""
    type: Union[Literal["text", "action", "action_result", "event"], str]


class ConversationMessage(Model):
    content: List[ConversationContent]
    message_ids: Optional[List[str]] = None
    """The ids of the events it is made of."""
    role: Union[Literal["user", "assistant", "tool", "system"], str]
    timestamp: Optional[datetime] = None


class ConversationStep(Model):
    completed_at: Optional[datetime] = None
    id: str
    messages: List[ConversationMessage]
    started_at: Optional[datetime] = None
    steps: List[ConversationStep]
    """Steps within this one; always empty here."""


class PageInfo(Model):
    has_next_page: bool
    next_cursor: Optional[str] = None
    """Opaque; give it as cursor with the same filters and order."""


class ConversationResponse(Model):
    conversation_id: str
    page_info: Optional[PageInfo] = None
    """For a conversation that is too long for one answer: it ends with an event block named
    truncated, and next_cursor continues it."""
    steps: List[ConversationStep]


class CreatedAPIKey(Model):
    created_at: datetime
    expires_at: Optional[datetime] = None
    factory_uids: Optional[List[str]] = None
    hint: Optional[str] = None
    """The first characters of the key, to recognise it by."""
    id: str
    key: str
    """The key. It is shown only now and cannot be read again."""
    last_used_at: Optional[datetime] = None
    name: str
    owner: RunCreatorInfo
    revoked_at: Optional[datetime] = None
    role: Union[KeyRole, str]
    worker_ids: Optional[List[str]] = None


class DefinitionRevision(Model):
    actor: RunCreatorInfo
    comment: Optional[str] = None
    commit: Optional[str] = None
    """The commit in the repository that the factory follows."""
    created_at: datetime
    file_count: int
    number: int
    source: Union[Literal["edit", "apply", "rollback", "repository"], str]


class DefinitionRevisionDetail(Model):
    actor: RunCreatorInfo
    comment: Optional[str] = None
    commit: Optional[str] = None
    """The commit in the repository that the factory follows."""
    created_at: datetime
    file_count: int
    files: Dict[str, str]
    number: int
    source: Union[Literal["edit", "apply", "rollback", "repository"], str]


OutcomeResult = Literal[
    "started", "skipped", "followed_up", "handshake", "disabled", "limit", "error", "filtered"
]
"""What an automation did with a delivery. filtered appears only in dry runs: the log counts those
in not_matched."""


class DeliveryOutcome(Model):
    automation_id: Optional[str] = None
    """Absent for a handshake."""
    automation_name: Optional[str] = None
    reason: Optional[str] = None
    """Why no run was started."""
    result: Union[OutcomeResult, str]
    run_id: Optional[str] = None
    """The run that was started, or that got a follow-up."""


DeliveryStatus = Literal[
    "accepted", "duplicate", "rejected_auth", "rejected_invalid_json", "rejected_too_large"
]
"""The result of a request. Requests that got 404 or 429 are not in the log."""


class Delivery(Model):
    answer_ms: Optional[float] = None
    """Milliseconds from its arrival until it was written."""
    answer_status: Optional[int] = None
    """The status that the sender got; absent if there was no sender."""
    delivery_id: str
    duplicate_of: Optional[str] = None
    """The first delivery with this identity."""
    event: Optional[str] = None
    """The event that GitHub or GitLab named in its header, such as pull_request."""
    identity: str
    """What identifies this delivery; empty for refused ones."""
    identity_source: str
    """Where the identity was found."""
    not_matched: int
    """How many automations of the webhook did not match."""
    outcomes: List[DeliveryOutcome]
    received_at: datetime
    redelivery_of: Optional[str] = None
    """The delivery that this one repeats on request."""
    remote_addr: str
    size: int
    """Bytes of the body, as far as they were read."""
    status: Union[DeliveryStatus, str]
    test: Optional[bool] = None
    """A test that the server sent itself, on request."""


class MissedCheck(Model):
    expected: Any
    """Any JSON value."""
    operator: Union[Literal["in", "not_in", "exists", "object"], str]
    """object: the field has conditions below it, but is not an object."""
    passed: bool
    path: str
    """webhook, signature_scheme, event, the name of a set such as labels, or the path of the field
    from payload."""
    seen: Any = None
    """The value that was found; absent when there is none. Long values are cut."""
    trigger: int
    """Which of the automation's triggers, from 0."""


class MissedAutomation(Model):
    automation_id: str
    automation_name: str
    checks: List[MissedCheck]
    """The checks that fail."""


class DeliveryDetail(Model):
    answer_ms: Optional[float] = None
    """Milliseconds from its arrival until it was written."""
    answer_status: Optional[int] = None
    """The status that the sender got; absent if there was no sender."""
    delivery_id: str
    duplicate_of: Optional[str] = None
    """The first delivery with this identity."""
    event: Optional[str] = None
    """The event that GitHub or GitLab named in its header, such as pull_request."""
    identity: str
    """What identifies this delivery; empty for refused ones."""
    identity_source: str
    """Where the identity was found."""
    not_matched: int
    """How many automations of the webhook did not match."""
    not_matched_automations: Optional[List[MissedAutomation]] = None
    """With explain: which automations do not match now, and why."""
    not_matched_truncated: Optional[bool] = None
    """More automations do not match than are listed."""
    outcomes: List[DeliveryOutcome]
    payload: Any = None
    """The body, of accepted deliveries only."""
    received_at: datetime
    redelivery_of: Optional[str] = None
    """The delivery that this one repeats on request."""
    remote_addr: str
    request_headers: Optional[Dict[str, str]] = None
    """At most 8 KiB; credentials and signatures are masked."""
    size: int
    """Bytes of the body, as far as they were read."""
    status: Union[DeliveryStatus, str]
    test: Optional[bool] = None
    """A test that the server sent itself, on request."""


class EgressRangesResponse(Model):
    cidrs: List[str]
    """Always empty: a self-hosted server connects from wherever its workers are."""


class FactoryRepository(Model):
    applied_at: Optional[datetime] = None
    """When the commit in force was applied."""
    applied_commit: Optional[str] = None
    """The commit that is in force; absent before the first."""
    branch: Optional[str] = None
    """Absent for the repository's default branch."""
    checked_at: Optional[datetime] = None
    """When the repository was last checked."""
    fault: Optional[str] = None
    """Why the repository could not be read when it was last tried."""
    path: Optional[str] = None
    """Absent for the root."""
    problems: List[FileProblem]
    """Why the commit that was seen is not in force, by place in the repository."""
    seen_commit: Optional[str] = None
    """The newest commit that was checked."""
    url: str


class Spending(Model):
    cost_usd: float
    """US dollars, as far as prices are known."""
    tokens: int
    """Tokens both ways."""


class Factory(Model):
    alias: Optional[str]
    """A short name, unique whatever its case; null when there is none."""
    created_at: datetime
    daily_budget: Optional[Budget] = None
    """Once its runs have used this much since 00:00 UTC, it starts no more; absent if there is
    none."""
    description: Optional[str]
    foreman_agent: str
    """The name of the agent that gets work that names no agent."""
    mode: Union[Literal["managed", "repository"], str]
    """managed is edited here, repository in a Git repository."""
    name: str
    paused: bool
    """While true its automations start no runs; deliveries are still accepted and logged."""
    repository: Optional[FactoryRepository] = None
    """How far it has followed its repository; absent when it is managed."""
    revision: int
    """Grows with every change to the factory or a part of it."""
    spent_today: Optional[Spending] = None
    """What its runs have used since 00:00 UTC; not in lists."""
    uid: str
    updated_at: datetime


class FactoryDefinition(Model):
    files: Dict[str, str]
    revision: int


class FactoryRunResponse(Model):
    factory_uid: str
    foreman_agent: str
    """The name of the agent that the work went to."""
    run_id: str
    run_url: Optional[str] = None
    """The page on this server that shows the run."""
    state: Union[RunState, str]
    ticket_ref: str


class HandoffAttachment(Model):
    attachment_id: str
    download_url: str
    """Needs no key; works for a quarter of an hour."""
    filename: str
    mime_type: Optional[str] = None


class HandoffAttachmentsResponse(Model):
    attachments: List[HandoffAttachment]


class IssuedNotification(Model):
    all_factories: Optional[bool] = None
    """Runs of all factories, and runs without one."""
    created_at: datetime
    description: str
    disabled_at: Optional[datetime] = None
    disabled_reason: Optional[str] = None
    """Why the server disabled it; absent if a person did."""
    enabled: bool
    factory_uids: List[str]
    """Runs of these factories; empty with all_factories."""
    id: str
    last_failure_at: Optional[datetime] = None
    last_success_at: Optional[datetime] = None
    name: str
    old_secret_until: Optional[datetime] = None
    """Until when the secret before the last rotation also signs."""
    run_name: str
    """Runs with this configuration name; empty means any."""
    secret: Optional[str] = None
    """The signing secret, if the server generated it. It is shown only now."""
    states: List[Union[RunState, str]]
    """Changes to these states; empty means every state."""
    updated_at: datetime
    url: str


SignatureScheme = Literal[
    "bitbucket", "buildkite", "calendly", "circleci", "discord", "dropbox", "github", "gitlab",
    "grafana", "hmac", "hubspot", "intercom", "jira", "linear", "pagerduty", "sentry", "shopify",
    "slack", "square", "standard_webhooks", "stripe", "twilio", "typeform", "vercel", "zoom"
]
"""How the sender signs; hmac takes its settings from hmac. The list may grow."""


WebhookAuthMode = Literal["token", "url_token", "signature"]
"""How a sender proves who it is: a bearer token, a token at the end of the URL, or a signature."""


class WebhookHMAC(Model):
    digest: Optional[Union[Literal["", "sha256", "sha1", "sha384", "sha512"], str]] = None
    """sha256 (default), sha1, sha384 or sha512."""
    encoding: Optional[Union[Literal["", "hex", "base64"], str]] = None
    """hex (default) or base64."""
    header: str
    """Carries the signature."""
    id_header: Optional[str] = None
    """Carries the delivery id; needed for {id}."""
    prefix: Optional[str] = None
    """Comes before the signature, such as sha256=."""
    template: Optional[str] = None
    """What is signed: {body} (default), or that with {timestamp}, {id}, {method} and {url}."""
    timestamp_header: Optional[str] = None
    """Carries the time in Unix seconds or milliseconds; needed for {timestamp}."""


class IssuedWebhook(Model):
    auth_mode: Union[WebhookAuthMode, str]
    created_at: datetime
    delivery_id_header: Optional[str] = None
    enabled: bool
    """A disabled webhook answers 404."""
    factory_uid: str
    hmac: Optional[WebhookHMAC] = None
    ingress_url: str
    """Where deliveries are sent. For a url_token webhook it ends in the placeholder {token}, except
    in the answer that shows the secret."""
    max_body_bytes: int
    name: str
    needs_secret: bool
    """The provider's secret is still missing: give it to rotateWebhook."""
    old_secret_until: Optional[datetime] = None
    """When the secret before the last rotation ends; absent when only the newest counts."""
    rate_limit: int
    """Deliveries per minute; 0 means no limit."""
    replay_guard: bool
    secret: Optional[str] = None
    """The secret, if the server generated it. It is shown only now."""
    secret_name: str
    """The managed secret that keeps the credential."""
    signature_scheme: Optional[Union[SignatureScheme, str]] = None
    uid: str
    updated_at: datetime


class HarnessInfo(Model):
    available: bool
    problem: Optional[str] = None
    """What is missing."""
    type: Union[HarnessType, str]


class ModelInfo(Model):
    description: Optional[str] = None
    disable_reason: Optional[Union[Literal[
        "PROVIDER_OUTAGE", "OUT_OF_REQUESTS", "ADMIN_DISABLED", "REQUIRES_UPGRADE"
    ], str]] = None
    display_name: str
    id: str
    provider: Union[Literal["OPENAI", "ANTHROPIC", "GOOGLE", "UNKNOWN"], str]
    reasoning_level: Optional[str] = None
    vision_supported: bool


class ListModelsResponse(Model):
    default_model_id: str
    harnesses: Optional[List[HarnessInfo]] = None
    models: List[ModelInfo]


class FilterFieldSpec(Model):
    alias_of: Optional[str] = None
    """The key that it stands for; use only one of the two."""
    description: str
    forms: List[str]
    """How it may be written: list, in, not_in."""
    match: Union[Literal["exact", "any_case", "pattern", "part"], str]
    """How values are compared: as they are, in any case, as patterns with * and **, or as part of
    the text."""
    name: str
    notice: Optional[str] = None
    """Why events usually do not have it."""
    required: bool
    type: Union[Literal["string", "integer"], str]
    """Of each value."""
    value: str
    """What a value is."""


class TriggerEvent(Model):
    event: str
    """Its name; * stands for any event of a provider whose events are not known."""
    filter_field_specs: List[FilterFieldSpec]
    """What each of the keys is."""
    filter_fields: List[str]
    """The keys that its filters may have."""
    notice: Optional[str] = None
    """Why a trigger with it never fires here."""


class ListTriggerEventsResponse(Model):
    events: List[TriggerEvent]
    provider: str


class LoggedDelivery(Model):
    answer_ms: Optional[float] = None
    """Milliseconds from its arrival until it was written."""
    answer_status: Optional[int] = None
    """The status that the sender got; absent if there was no sender."""
    delivery_id: str
    duplicate_of: Optional[str] = None
    """The first delivery with this identity."""
    event: Optional[str] = None
    """The event that GitHub or GitLab named in its header, such as pull_request."""
    identity: str
    """What identifies this delivery; empty for refused ones."""
    identity_source: str
    """Where the identity was found."""
    not_matched: int
    """How many automations of the webhook did not match."""
    outcomes: List[DeliveryOutcome]
    received_at: datetime
    redelivery_of: Optional[str] = None
    """The delivery that this one repeats on request."""
    remote_addr: str
    size: int
    """Bytes of the body, as far as they were read."""
    status: Union[DeliveryStatus, str]
    test: Optional[bool] = None
    """A test that the server sent itself, on request."""
    webhook_id: str
    webhook_name: str


class Notification(Model):
    all_factories: Optional[bool] = None
    """Runs of all factories, and runs without one."""
    created_at: datetime
    description: str
    disabled_at: Optional[datetime] = None
    disabled_reason: Optional[str] = None
    """Why the server disabled it; absent if a person did."""
    enabled: bool
    factory_uids: List[str]
    """Runs of these factories; empty with all_factories."""
    id: str
    last_failure_at: Optional[datetime] = None
    last_success_at: Optional[datetime] = None
    name: str
    old_secret_until: Optional[datetime] = None
    """Until when the secret before the last rotation also signs."""
    run_name: str
    """Runs with this configuration name; empty means any."""
    states: List[Union[RunState, str]]
    """Changes to these states; empty means every state."""
    updated_at: datetime
    url: str


NotificationStatus = Literal["pending", "delivered", "failed"]
"""The status of a delivery to an endpoint. A pending one is waiting for its first or next
attempt."""


class NotificationDelivery(Model):
    attempt_count: int
    created_at: datetime
    event_id: str
    """The id of the event in the log of the run; sent as webhook-id."""
    finished_at: Optional[datetime] = None
    id: str
    last_error: Optional[str] = None
    last_status_code: Optional[int] = None
    """Absent when there was no answer."""
    next_attempt_at: Optional[datetime] = None
    """For a pending delivery: when it is tried next. During an attempt: when another one may be
    made."""
    notification_id: str
    run_id: Optional[str] = None
    """Absent in a test."""
    state: Optional[Union[RunState, str]] = None
    """The state that the run changed to; absent in a test."""
    status: Union[NotificationStatus, str]
    type: Union[Literal["run.state_changed", "notification.test"], str]


class NotificationAttempt(Model):
    duration_ms: int
    error: Optional[str] = None
    number: int
    status_code: Optional[int] = None
    """Absent when there was no answer."""
    time: datetime


class NotificationDeliveryDetail(Model):
    attempt_count: int
    attempts: List[NotificationAttempt]
    """The newest 50, in order."""
    created_at: datetime
    event_id: str
    """The id of the event in the log of the run; sent as webhook-id."""
    finished_at: Optional[datetime] = None
    id: str
    last_error: Optional[str] = None
    last_status_code: Optional[int] = None
    """Absent when there was no answer."""
    next_attempt_at: Optional[datetime] = None
    """For a pending delivery: when it is tried next. During an attempt: when another one may be
    made."""
    notification_id: str
    payload: Any
    """The body as it is sent; null once the run was deleted."""
    run_id: Optional[str] = None
    """Absent in a test."""
    state: Optional[Union[RunState, str]] = None
    """The state that the run changed to; absent in a test."""
    status: Union[NotificationStatus, str]
    type: Union[Literal["run.state_changed", "notification.test"], str]


class DefinitionBacktest(Model):
    action: Union[Literal["add", "change", "remove"], str]
    automation: str
    deliveries: int
    """How many stored deliveries were checked."""
    starts: int
    """How many of them start no run now and would start one."""
    stops: int
    """How many of them start a run now and would not."""
    truncated: bool
    """There are more deliveries; only the newest were checked."""


class PlanDefinitionResponse(Model):
    backtests: List[DefinitionBacktest]
    changes: List[DefinitionChange]
    notices: List[FileProblem]
    """What is not a mistake but worth knowing, such as keys without effect on this server."""
    problems: List[FileProblem]
    """Always empty: a folder with mistakes is answered with 400."""
    revision: int
    """The revision in force; give it to apply as if_revision. 0 for a factory that does not exist
    yet."""
    unused: List[str]


class RedeliverResponse(Model):
    delivery_id: str
    """The new delivery; in a dry run the old one."""
    outcomes: List[DeliveryOutcome]
    """In a dry run, including automations that do not match."""


class RunAgentResponse(Model):
    at_capacity: bool
    """No worker slot was free; the run waits for one."""
    run_id: str
    state: Union[RunState, str]
    task_id: str
    """The same as run_id."""


class RunEvent(Model):
    data: Any
    """An object; its fields depend on the type."""
    execution_id: Optional[str] = None
    id: str
    run_id: Optional[str] = None
    """Only in the stream over all runs."""
    sequence: int
    """Counts from 1 without gaps."""
    time: datetime
    type: str
    """state, message, thought, tool_call, tool_result, output, plan, usage, permission_request,
    artifact or notice; the list may grow."""


class RunFollowupResponse(Model):
    followup_id: Optional[str]
    """Null when the message became part of the prompt."""
    outcome: Union[Literal[
        "queued_prompt", "live_session", "handoff_execution", "queue_pending"
    ], str]


class AgentSkill(Model):
    commit: Optional[str] = None
    """The commit of the repository that it was read from."""
    description: str
    full_path: str
    """Where its file is in the repository, or in the definition of the factory."""
    name: str


class ArtifactItemData(Model):
    artifact_uid: Optional[str] = None
    """Of PLAN, SCREENSHOT and FILE."""
    branch: Optional[str] = None
    """Of PULL_REQUEST; empty when it is not known."""
    description: Optional[str] = None
    document_uid: Optional[str] = None
    """Of PLAN."""
    filename: Optional[str] = None
    """Of FILE."""
    filepath: Optional[str] = None
    """Of FILE."""
    mime_type: Optional[str] = None
    """Of FILE and SCREENSHOT."""
    reference_type: Optional[str] = None
    """Of EXTERNAL_REFERENCE."""
    size_bytes: Optional[int] = None
    """Of FILE."""
    status: Optional[Union[Literal[
        "open", "draft", "merged", "closed", "unknown"
    ], str]] = None
    """Of PULL_REQUEST."""
    title: Optional[str] = None
    url: Optional[str] = None
    """Of PULL_REQUEST, PLAN and EXTERNAL_REFERENCE."""


class ArtifactItem(Model):
    artifact_type: Union[ArtifactType, str]
    created_at: datetime
    data: ArtifactItemData


class ModelTokenUsage(Model):
    cost_unknown_tokens: Optional[int] = None
    """Tokens whose price was not known: they are not in the cost."""
    inference_cost_usd: float
    model_id: str
    tokens_by_category: Optional[Dict[str, int]] = None
    """input, input_cache_read and output; the first leaves out the second."""
    total_tokens: int
    usage_type: Union[Literal["custom_endpoint"], str]


class RequestUsage(Model):
    inference_cost_usd: float
    """At the prices that the operator has set; models without a price are left out."""
    model_token_usage: Optional[List[ModelTokenUsage]] = None
    """For each model; only when you get a single run."""
    total_tokens: int


class RunRerun(Model):
    attempt: int
    run_id: str
    state: Union[RunState, str]


class RunSchedule(Model):
    cron_schedule: str
    schedule_id: str
    schedule_name: str
    slot: Optional[str] = None
    """The time that the run is for, by the wall clock of the schedule's time zone."""


RunSourceType = Literal[
    "API", "CLI", "WEB_APP", "SCHEDULED_AGENT", "CUSTOM_WEBHOOK", "ORCHESTRATION", "MCP", "LOCAL",
    "GITHUB_WEBHOOK", "GITLAB_WEBHOOK", "LINEAR", "SLACK", "GITHUB_ACTION", "CLOUD_MODE", "JIRA",
    "SELF_IMPROVEMENT", "AUTOFIX", "RUN_SCORER", "TEAMS", "AZURE_DEVOPS_WEBHOOK", "BENCHMARK_TRIAL",
    "CREATE_BENCHMARK_TASK"
]
"""Where a run came from. The list may grow."""


PlatformErrorCode = Literal[
    "invalid_request", "authentication_required", "not_authorized", "feature_not_available",
    "budget_exceeded", "resource_not_found", "method_not_allowed", "conflict", "payload_too_large",
    "operation_not_supported", "idempotency_mismatch", "resource_unavailable", "internal_error",
    "environment_setup_failed", "agent_process_failed", "run_timeout", "infrastructure_timeout"
]
"""Why something failed; /docs/errors/ explains each."""


class RunStatusMessage(Model):
    error_code: Optional[Union[PlatformErrorCode, str]] = None
    message: str
    retryable: Optional[bool] = None
    """For ended runs: submitting the work again may succeed."""


class RunItem(Model):
    agent_config: Optional[AmbientAgentConfig] = None
    """The resolved configuration."""
    agent_config_origins: Optional[Dict[str, str]] = None
    """With explain=1: for each field of agent_config, where its value came from."""
    agent_skill: Optional[AgentSkill] = None
    """The first skill of the run, once it is known."""
    artifacts: Optional[List[ArtifactItem]] = None
    attempt: Optional[int] = None
    """Which of the runs with the same request this is, from 1."""
    continues_run_id: Optional[str] = None
    """The run whose workspace and messages this one continues."""
    conversation_id: Optional[str] = None
    created_at: datetime
    creator: RunCreatorInfo
    execution_location: Union[Literal["LOCAL", "REMOTE"], str]
    executor: Optional[RunCreatorInfo] = None
    factory_uid: Optional[str] = None
    finished_at: Optional[datetime]
    """When a terminal state was last reached; null while the run is active."""
    is_run_type_cancellable: bool
    """Whether runs of this kind can be cancelled at all, whatever their state."""
    is_sandbox_running: bool
    """Whether a worker still holds a live agent process."""
    metadata: Optional[Dict[str, str]] = None
    """Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256
    bytes."""
    parent_run_id: Optional[str] = None
    prompt: str
    """The agent's task."""
    prompt_truncated: Optional[bool] = None
    """In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too
    long to be shown in full. Get the run to read all of it."""
    request_usage: Optional[RequestUsage] = None
    rerun_of: Optional[str] = None
    """The first run with the same request, if this is a rerun."""
    reruns: Optional[List[RunRerun]] = None
    """Only when you get a single run: the later runs with its request, at most the first 100."""
    root_run_id: str
    """The run at the top of the tree; run_id itself at the top."""
    run_id: str
    run_time: Optional[str] = None
    """ISO 8601 duration, summed over the executions that have ended."""
    schedule: Optional[RunSchedule] = None
    """The schedule that started the run."""
    scope: Scope
    session_id: Optional[str] = None
    session_link: Optional[str] = None
    """The page on this server that shows the live session."""
    source: Union[RunSourceType, str]
    started_at: Optional[datetime] = None
    """When an agent first began work; null until then."""
    state: Union[RunState, str]
    status_message: RunStatusMessage
    submitted_prompt: Optional[str] = None
    """The prompt as sent, with the follow-ups that came before the start."""
    task_id: str
    """The same as run_id."""
    title: str
    updated_at: datetime
    """Changes with state, title and follow-ups, not with every event."""


class RunReference(Model):
    run_id: str


class RunReportResponse(Model):
    artifact_uid: Optional[str] = None
    """The artifact that the report created."""
    run_id: str


RunSortBy = Literal["updated_at", "created_at", "title", "agent"]
"""The order of the list; agent orders by skill, runs without one last."""


class ScheduleHistory(Model):
    last_ran: Optional[datetime]
    """When it last started a run; null if it never did."""
    next_run: Optional[datetime]
    """Null while it is paused."""


class ScheduledAgentItem(Model):
    agent_config: Optional[AmbientAgentConfig] = None
    agent_uid: Optional[str] = None
    created_at: datetime
    created_by: RunCreatorInfo
    cron_schedule: str
    enabled: bool
    environment: Optional[CloudEnvironmentConfig] = None
    """The environment of agent_config, as it is now."""
    history: ScheduleHistory
    id: str
    last_spawn_error: Optional[str]
    """Why it started no run at its last time; null if it did."""
    metadata: Optional[Dict[str, str]] = None
    """Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256
    bytes."""
    name: str
    overlap: Optional[Union[Literal["skip", "queue"], str]] = None
    """What happens while the last run is live; if absent, the next one starts anyway."""
    prompt: str
    prompt_truncated: Optional[bool] = None
    """In lists: a prompt is longer than the 4096 bytes that are shown, or the configuration is too
    long to be shown in full. Get the schedule to read all of it."""
    scope: Scope
    timezone: Optional[str] = None
    """An IANA name; absent is UTC."""
    updated_at: datetime
    updated_by: RunCreatorInfo


class SchemaDocuments(Model):
    documents: List[str]
    """The names of the schemas in URLs."""
    schemas: Dict[str, Dict[str, Any]]
    version: str


class SchemaVersions(Model):
    current_version: str
    versions: List[str]


class Secret(Model):
    access: Union[Literal["granted", "runs"], str]
    """granted: only runs whose factory, agent or automation names it; runs: anyone who may start a
    run may name it."""
    created_at: datetime
    description: Optional[str] = None
    kind: Union[Literal["managed", "webhook"], str]
    """webhook: the credential of a webhook, which no run gets."""
    name: str
    updated_at: datetime


TaskStatus = Literal["running", "failed", "blocked", "cancelled", "complete"]
"""A group of run states."""


class FilterCheck(Model):
    expected: Any
    """Any JSON value."""
    operator: Union[Literal["in", "not_in", "exists", "object"], str]
    """object: the field has conditions below it, but is not an object."""
    passed: bool
    path: str
    """webhook, signature_scheme, event, the name of a set such as labels, or the path of the field
    from payload."""
    seen: Any = None
    """The value that was found; absent when there is none. Long values are cut."""


class TestFilterResponse(Model):
    checks: List[FilterCheck]
    """The webhook first, then every condition of the filter."""
    would_trigger: bool


class TestWebhookResponse(Model):
    delivery_id: Optional[str] = None
    """The resulting delivery."""
    detail: Optional[str] = None
    """Why the webhook refused it."""
    status: int
    """The HTTP status of the answer."""


class TimelineEvent(Model):
    event_type: Union[Literal[
        "oz_run_created", "oz_run_queued", "oz_run_pending", "oz_run_claimed",
        "worker_container_ready", "shared_session_started", "agent_started", "oz_run_done",
        "oz_run_blocked", "oz_run_cancelled", "oz_run_failed", "oz_run_errored", "vm_shutdown"
    ], str]
    event_uuid: str
    execution_id: Optional[int] = None
    """Counts the executions of the run from 1; payload.execution_id has the id."""
    occurred_at: datetime
    payload: Optional[Dict[str, Any]] = None
    """from, state, message, error_code, worker and execution_id, as far as they are known."""
    run_id: str


class TimelineResponse(Model):
    events: List[TimelineEvent]


class ValidateDefinitionResponse(Model):
    notices: List[FileProblem]
    """What is not a mistake but worth knowing, such as keys without effect on this server."""
    problems: List[FileProblem]
    unused: List[str]
    """Files that are accepted and not used."""
    valid: bool


class DeferredResolution(Model):
    column: int
    field: str
    kind: str
    line: int
    path: str
    value: str


class Diagnostic(Model):
    code: str
    column: int
    line: int
    message: str
    path: str


class ValidateFilesResponse(Model):
    deferred_resolutions: List[DeferredResolution]
    """What is looked up when the definition is applied."""
    diagnostics: List[Diagnostic]
    """The problems that can be found without a server."""
    notices: List[FileProblem]
    """What is not a mistake but worth knowing, such as keys without effect on this server."""
    problems: List[FileProblem]
    schema_version: str
    unused: List[str]
    """Files that are accepted and not used."""
    valid: bool


class Webhook(Model):
    auth_mode: Union[WebhookAuthMode, str]
    created_at: datetime
    delivery_id_header: Optional[str] = None
    enabled: bool
    """A disabled webhook answers 404."""
    factory_uid: str
    hmac: Optional[WebhookHMAC] = None
    ingress_url: str
    """Where deliveries are sent. For a url_token webhook it ends in the placeholder {token}, except
    in the answer that shows the secret."""
    max_body_bytes: int
    name: str
    needs_secret: bool
    """The provider's secret is still missing: give it to rotateWebhook."""
    old_secret_until: Optional[datetime] = None
    """When the secret before the last rotation ends; absent when only the newest counts."""
    rate_limit: int
    """Deliveries per minute; 0 means no limit."""
    replay_guard: bool
    secret_name: str
    """The managed secret that keeps the credential."""
    signature_scheme: Optional[Union[SignatureScheme, str]] = None
    uid: str
    updated_at: datetime


class KeyLimits(Model):
    factory_uids: Optional[List[str]] = None
    """The factories that the key reaches; if absent, all, or none for a run token."""
    requests_per_minute: Optional[int] = None
    """If absent, there is no limit."""
    worker_ids: Optional[List[str]] = None
    """The worker ids that a worker key may claim for."""


class WhoamiResponse(Model):
    key_id: Optional[str] = None
    limits: KeyLimits
    permissions: List[str]
    principal: RunCreatorInfo
    role: Union[Literal[
        "viewer", "member", "manager", "admin", "worker", "run"
    ], str]
    run_id: Optional[str] = None
    """The run whose token this is."""
