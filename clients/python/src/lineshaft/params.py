"""What the server takes: the parts of requests, as dictionaries. Made by
scripts/generate.py; do not edit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping, Sequence

from typing_extensions import Literal, Required, TypedDict

from . import models


class AutoMemoryRequest(TypedDict, total=False):
    pass


class AgentMemoryRequest(TypedDict, total=False):
    auto_memory: AutoMemoryRequest


class Budget(TypedDict, total=False):
    max_cost_usd: float
    """US dollars; 0 means no limit."""
    max_tokens: int
    """Tokens both ways; 0 means no limit."""


class Concurrency(TypedDict, total=False):
    key: Required[str]
    policy: Literal["queue", "skip", "cancel_previous", "followup"]
    """What happens to a run whose key is taken; queue by default."""


class HarnessAuth(TypedDict, total=False):
    secret_name: str
    """The managed secret; with managedSecret."""
    source: Literal["managedSecret", "workerEnvironment"]
    """managedSecret takes the key from a managed secret, workerEnvironment from the environment of
    a self-hosted worker. Without it, the worker's key is used, whatever the wider layers say."""


class Harness(TypedDict, total=False):
    auth: HarnessAuth
    command: Sequence[str]
    """The program of the command and acp harnesses, with its arguments."""
    mode: Literal["acp", "command"]
    """How to talk to claude, codex, gemini and opencode. By default, over the Agent Client Protocol
    if its program is installed, else with the agent's own command."""
    model_id: str
    """The model, for agents other than the built-in one."""
    permissions: Literal["allow", "deny", "ask"]
    """The answer when the agent asks for permission: ask makes the run BLOCKED until a follow-up
    answers. The server's permission-policy by default."""
    reasoning_level: str
    type: models.HarnessType


class MCPServerConfig(TypedDict, total=False):
    args: Sequence[str]
    """With command."""
    command: str
    env: Mapping[str, str]
    """With command. Values may contain {{SECRET_NAME}}; literal values are shown as ***."""
    headers: Mapping[str, str]
    """With url. Values may contain {{SECRET_NAME}}; literal values are shown as ***."""
    name: str
    """Only in the list form, where it is required."""
    url: str
    warp_id: str
    """The id of a managed server."""


class Retry(TypedDict, total=False):
    max_attempts: int
    """1 by default."""


class SecretRef(TypedDict, total=False):
    name: Required[str]


class AmbientAgentConfig(TypedDict, total=False):
    base_prompt: str
    """Text put before the prompt."""
    budget: Budget
    computer_use_enabled: bool
    concurrency: Concurrency
    credential_strategy: Literal["EXECUTOR"] | None
    """Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422."""
    environment_id: str
    """The environment to work in."""
    harness: Harness
    idle_timeout_minutes: int
    """How long the workspace is kept after the run ended; 10 by default."""
    mcp_servers: Mapping[str, MCPServerConfig] | Sequence[Any]
    """Tool servers by name, or a list of them in which each has a name."""
    model_id: str
    """The language model, for the built-in agent."""
    name: str
    """A label for grouping; the list filters by it."""
    queue_timeout_minutes: int
    """The longest it may wait for a worker; 1440 by default."""
    retry: Retry
    runner_id: str
    """The kind of machine to work on: the name or uid of a runner of the run's factory."""
    secrets: Sequence[SecretRef]
    """Managed secrets that the run gets as variables. A caller may name those with access runs;
    others come from the factory, agent, automation or environment."""
    skill_spec: str
    """A skill, owner/repo:name or owner/repo:path. In answers, the first of skills."""
    skills: Sequence[str]
    """Skills in order; with skill_spec it comes first."""
    stall_minutes: int
    """The longest it may show no progress; 10 by default."""
    timeout_minutes: int
    """The longest the agent may work; 60 by default."""
    worker_host: str
    """The id of a self-hosted worker; hosted, warp or nothing mean the server's own workers."""


class AttachmentInput(TypedDict, total=False):
    data: Required[str]
    """Base64, padded, without line breaks."""
    file_name: Required[str]
    """Its name in the workspace; no slashes."""
    mime_type: Required[str]


class CancelFilter(TypedDict, total=False):
    ancestor_run_id: str
    """All descendants of this run."""
    artifact_type: models.ArtifactType
    """Runs that have such an artifact."""
    automation_id: str
    created_after: datetime | str
    """Inclusive."""
    created_before: datetime | str
    """Exclusive."""
    creator: str
    """The uid of a principal."""
    delivery_id: str
    environment_id: str
    """empty-environment selects runs without one."""
    execution_location: Literal["LOCAL", "REMOTE"]
    executor: str
    """The uid of a principal."""
    factory_only: bool
    """Only runs of a factory."""
    factory_uid: Sequence[str]
    """Repeatable."""
    metadata: Mapping[str, str]
    """metadata[KEY]=VALUE, at most 5; exact, all must hold."""
    model_id: str
    name: str
    """Equals config.name."""
    parent_run_id: str
    """Children of this run."""
    q: str
    """Words of title, name, skill and the start of the prompt; also an exact run id."""
    schedule_id: str
    skill: str
    """owner/repo:path or owner/repo:name; finds runs that were started with either."""
    source: Sequence[models.RunSourceType]
    """Repeatable."""
    state: Sequence[models.RunState]
    """Repeatable."""
    task_status: Sequence[models.TaskStatus]
    """Repeatable."""
    updated_after: datetime | str
    """Inclusive."""
    updated_before: datetime | str
    """Exclusive."""
    webhook_id: str
    worker_host: str
    """hosted for the server's own workers."""


class GithubRepo(TypedDict, total=False):
    owner: Required[str]
    repo: Required[str]


class CloudEnvironmentConfig(TypedDict, total=False):
    description: str | None
    docker_image: str
    """For workers that isolate agents in containers; others do not use it."""
    git_credentials: str
    """The name of a managed secret to clone with: a token, user:token, or a private key. Agents do
    not get it."""
    github_repos: Sequence[GithubRepo]
    """Cloned into the workspace, each into a folder of its name."""
    name: Required[str]
    refresh_commands: Sequence[str]
    """Run instead of setup_commands if the workspace was prepared for an older commit; if empty,
    setup_commands run. At most 4096 characters each."""
    secrets: Sequence[SecretRef]
    """Managed secrets that every run in this environment gets as variables."""
    setup_commands: Sequence[str]
    """Run in order by sh in the workspace, each in its own shell. The first that fails ends the
    run. At most 4096 characters each."""


class ConcurrencyUpdate(TypedDict, total=False):
    key: Required[str]
    """Empty removes the rule."""
    policy: Literal["queue", "skip", "cancel_previous", "followup"]


class FollowupAttachmentInput(TypedDict, total=False):
    data: Required[str]
    """Base64, padded, without line breaks. Required."""
    file_name: Required[str]
    """Its name in the workspace; no slashes. Required."""
    mime_type: Required[str]
    """Required."""


class KeyOwner(TypedDict, total=False):
    display_name: str
    email: str
    type: Required[Literal["user", "service_account"]]
    uid: str
    """If absent, a new one. A key that is limited to factories may name only its own owner."""


class RepositorySource(TypedDict, total=False):
    branch: str
    """The branch that is followed; the repository's default one when absent."""
    path: str
    """The folder of the definition; the root when absent."""
    url: Required[str]
    """An https or ssh address without credentials."""


class RunReportStep(TypedDict, total=False):
    priority: Literal["high", "medium", "low"]
    state: Literal["pending", "in_progress", "completed"]
    """pending by default."""
    text: Required[str]


TriggerFilterWebhookIds = TypedDict(
    "TriggerFilterWebhookIds",
    {
        "in": "Sequence[str]",
    },
    total=False,
)


class TriggerFilter(TypedDict, total=False):
    """Which events count; all keys must match. The keys of each event are in GET
    /factory/automations/events/{provider}; any other is refused."""

    actions: Any
    """Of gitlab: What was done to the merge request, in GitLab's words."""
    agents: Any
    """Of run: Agents of the run that has finished, by name."""
    assignee_ids: Any
    """Of linear: Who the issue is assigned to, by id."""
    assignees: Any
    """Of github: Who the issue or pull request is assigned to. Of azure_devops: Who the work item
    is assigned to."""
    authors: Any
    """Of github: Who wrote the issue, pull request or comment, or pushed. Of gitlab: Who did it. Of
    azure_devops: Who wrote it."""
    automations: Any
    """Of run: Automations of the run that has finished, by name."""
    baseBranches: Any
    """Of github: Another spelling of base_branches."""
    base_branches: Any
    """Of github: Branches that the pull request goes to. Of gitlab: Branches that the merge request
    goes to. Of azure_devops: Branches that the pull request goes to."""
    branches: Any
    """Of github: Branches of the pull request or push. Of gitlab: Branches of the merge request,
    push or pipeline. Of azure_devops: Branches that were pushed."""
    channel_ids: Any
    """Of slack: Channels, by id. Of teams: Channels, by id such as 19:…@thread.tacv2."""
    channels: Any
    """Of slack: Slack channels, by name."""
    conclusions: Any
    """Of github: How the check, workflow or pipeline ended. Of gitlab: How the pipeline, job or
    deployment ended."""
    creator_ids: Any
    """Of linear: Who wrote the issue or comment, or began the session, by id."""
    emojis: Any
    """Of slack: Names of emojis; colons and skin tones mean nothing."""
    factories: Any
    """Of run: Factories of the run that has finished, by uid."""
    issue_ids: Any
    """Of linear: Issues that the comment is on, by id."""
    issues: Any
    """Of linear: Issues that the comment is on, such as ENG-12, or by title."""
    itemUsers: Any
    """Of slack: Who wrote what the reaction is to, by name."""
    item_user_ids: Any
    """Of slack: Who wrote what the reaction is to, by id."""
    keywords: Any
    """Of linear, slack, jira, teams: Parts of the text, in any case."""
    labels: Any
    """Of github: Labels of the issue or pull request. Of gitlab: Labels of the issue or merge
    request. Of linear: Labels of the issue, by name. Of jira: Labels of the issue; case matters. Of
    azure_devops: Labels of the work item."""
    mentioned: Any
    """Of github, azure_devops: Who is mentioned."""
    mentioned_user_ids: Any
    """Of linear: Who is mentioned, by id."""
    paths: Any
    """Of github, gitlab: Files that the push changes."""
    payload: Mapping[str, Any]
    """An object that mirrors the body: keys AND; a value is an array (any of these scalars), an
    object of the operators in, not_in and exists, or another object that nests. At most 10 deep, 64
    conditions, 32 values each. Absent matches every delivery."""
    prNumbers: Any
    """Of github: Another spelling of pr_numbers."""
    pr_numbers: Any
    """Of github: Numbers of pull requests."""
    project_ids: Any
    """Of linear: Projects, by id."""
    project_keys: Any
    """Of jira: Projects, by key."""
    projects: Any
    """Of linear: Linear projects, by name."""
    repos: Any
    """Of github: Repositories, as owner/name. Of gitlab: Repositories, with all groups. Of
    azure_devops: Repositories."""
    review_states: Any
    """Of github: What the review says."""
    reviewer_teams: Any
    """Of github: Teams that are asked for a review."""
    reviewers: Any
    """Of github: Who is asked for a review."""
    schedule_ids: Any
    """Of schedule: Schedules that exist already, instead of an inline schedule."""
    source_repos: Any
    """Of azure_devops: Repositories that the pull request comes from."""
    stages: Any
    """Of factory: Stages that the work item gets to."""
    state_ids: Any
    """Of linear: States of the issue, by id."""
    states: Any
    """Of run: States that the run ended in. Of linear: States of the issue, by name."""
    status_ids: Any
    """Of jira: Statuses that the issue gets, by id."""
    team_ids: Any
    """Of linear: Teams, by id. Of teams: The team, by its id."""
    teams: Any
    """Of linear: Linear teams, by name or key."""
    user_ids: Any
    """Of slack: Who did it, by id. Of teams: Who wrote it, by id."""
    users: Any
    """Of slack: Slack users, by name."""
    webhook_ids: Sequence[str] | TriggerFilterWebhookIds
    """Webhooks of this factory by uid, as a list or as in. With webhooks, 1 to 50 in all."""
    webhooks: Sequence[str]
    """Webhooks of this factory by name."""
    workflows: Any
    """Of github: Workflows, by name."""


class TriggerSchedule(TypedDict, total=False):
    cron: Required[str]
    name: str
    overlap: Literal["skip", "queue"]
    timezone: str


class Trigger(TypedDict, total=False):
    event: Required[str]
    """received for webhook, cron_fired for schedule, finished for run; for others, for example,
    issue_opened, pull_request_*, push, app_mention. GET /factory/automations/events/{provider}
    lists them."""
    filter: TriggerFilter
    provider: Required[Literal[
        "webhook", "schedule", "run", "github", "gitlab", "linear", "slack", "jira", "teams",
        "azure_devops", "factory"
    ]]
    """webhook, schedule, run, github, gitlab, linear, slack or jira. teams, azure_devops and
    factory are kept and never fire."""
    schedule: str | TriggerSchedule
    """For provider schedule only: a cron expression (five fields, @daily and the like, or @every
    1h), or an object with cron, timezone (an IANA name; UTC when absent), overlap (skip or queue)
    and name (what distinguishes it from other schedules of the automation)."""


class WebhookHMAC(TypedDict, total=False):
    digest: Literal["", "sha256", "sha1", "sha384", "sha512"]
    """sha256 (default), sha1, sha384 or sha512."""
    encoding: Literal["", "hex", "base64"]
    """hex (default) or base64."""
    header: Required[str]
    """Carries the signature."""
    id_header: str
    """Carries the delivery id; needed for {id}."""
    prefix: str
    """Comes before the signature, such as sha256=."""
    template: str
    """What is signed: {body} (default), or that with {timestamp}, {id}, {method} and {url}."""
    timestamp_header: str
    """Carries the time in Unix seconds or milliseconds; needed for {timestamp}."""
