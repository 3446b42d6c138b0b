"""What the server takes: the parts of requests, as dictionaries. Made by
scripts/generate.py; do not edit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping, Sequence, Union

from typing_extensions import Literal, Required, TypedDict

from . import models


class AutoMemoryRequest(TypedDict, total=False):
    pass


class AgentMemoryRequest(TypedDict, total=False):
    auto_memory: AutoMemoryRequest


class Budget(TypedDict, total=False):
    max_cost_usd: float
    """US dollars; 0 is no limit."""
    max_tokens: int
    """Tokens both ways; 0 is no limit."""


class Concurrency(TypedDict, total=False):
    key: Required[str]
    policy: Literal["queue", "skip", "cancel_previous", "followup"]
    """What happens to a run whose key is taken; queue by default."""


class Harness(TypedDict, total=False):
    command: Sequence[str]
    """The program of the command and acp harnesses, with its arguments."""
    mode: Literal["acp", "command"]
    """How claude, codex, gemini and opencode are talked to; without it over the Agent Client
    Protocol where its program is installed, else with the agent's own command."""
    model_id: str
    """The model, for agents other than the built-in one."""
    permissions: Literal["allow", "deny", "ask"]
    """Who decides when the agent asks whether it may do something: ask makes the run BLOCKED until
    a follow-up answers. The server's permission-policy by default."""
    reasoning_level: str
    type: models.HarnessType


class MCPServerConfig(TypedDict, total=False):
    args: Sequence[str]
    """With command."""
    command: str
    env: Mapping[str, str]
    """With command. Values may hold {{SECRET_NAME}}; literal ones are answered as ***."""
    headers: Mapping[str, str]
    """With url. Values may hold {{SECRET_NAME}}; literal ones are answered as ***."""
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
    credential_strategy: Literal["CREATOR", "EXECUTOR"] | None
    """Whose credentials are used; this server offers EXECUTOR only, CREATOR is 422."""
    environment_id: str
    """The environment to work in."""
    harness: Harness
    idle_timeout_minutes: int
    """How long the workspace is kept after the run ended; 10 by default."""
    mcp_servers: Mapping[str, MCPServerConfig] | Sequence[MCPServerConfig]
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
    """A skill, owner/repo:name or owner/repo:path. In answers the first of skills."""
    skills: Sequence[str]
    """Skills in order; excludes skill_spec."""
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
    """Cloned into folders of their names in the workspace."""
    name: Required[str]
    secrets: Sequence[SecretRef]
    """Managed secrets that every run in this environment gets as variables."""
    setup_commands: Sequence[str]
    """Run in order by sh in the workspace, each in a shell of its own. The first that fails ends
    the run. At most 4096 characters each."""


class ConcurrencyUpdate(TypedDict, total=False):
    key: Required[str]
    """Empty takes the rule away."""
    policy: Literal["queue", "skip", "cancel_previous", "followup"]


class FollowupAttachmentInput(TypedDict, total=False):
    data: str
    """Base64, padded, without line breaks. Required."""
    file_name: str
    """Its name in the workspace; no slashes. Required."""
    mime_type: str
    """Required."""


class KeyOwner(TypedDict, total=False):
    display_name: str
    email: str
    type: Required[Literal["user", "service_account"]]
    uid: str
    """A new one when absent. A key that is limited to factories may name its own owner only."""


class RepositorySource(TypedDict, total=False):
    branch: str
    """The branch that is followed; the repository's default one when absent."""
    path: str
    """The folder of the definition; the root when absent."""
    url: Required[str]
    """An https or ssh address without credentials."""


class RunFilter(TypedDict, total=False):
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
    """owner/repo:path."""
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


class RunReportStep(TypedDict, total=False):
    priority: Literal["high", "medium", "low"]
    state: Literal["pending", "in_progress", "completed"]
    """pending by default."""
    text: Required[str]


ChoiceObject = TypedDict(
    "ChoiceObject",
    {
        "in": "Sequence[str]",
        "not_in": "Sequence[str]",
    },
    total=False,
)


Choice = Union[Sequence[str], ChoiceObject]
"""Values that are allowed, as a list, or in and not_in. Of several values that an event has, one
must be in in and none in not_in; an event that has none fails in and passes not_in."""


class TriggerFilter(TypedDict, total=False):
    agents: Choice
    """Of run: names of agents."""
    authors: Choice
    """Of github and gitlab: logins."""
    automations: Choice
    """Of run: names of automations."""
    base_branches: Choice
    """Of github and gitlab: where a pull request goes to; * and ** are patterns."""
    branches: Choice
    """Of github and gitlab: what was pushed, or the head of a pull request; * and ** are
    patterns."""
    conclusions: Choice
    """Of github and gitlab: how checks, workflows and pipelines end."""
    factories: Choice
    """Of run: uids; this factory alone when absent."""
    labels: Choice
    """Of github and gitlab."""
    paths: Choice
    """Of push: the files that it adds, changes or removes; * and ** are patterns."""
    payload: Mapping[str, Any]
    """An object that mirrors the body: keys AND; a value is an array (any of these scalars), an
    object of the operators in, not_in and exists, or another object that nests. At most 10 deep, 64
    conditions, 32 values each. Absent matches every delivery."""
    repos: Choice
    """Of github and gitlab: owner/name; * and ** are patterns."""
    states: Choice
    """Of run: SUCCEEDED, FAILED, ERROR or CANCELLED."""
    webhook_ids: Sequence[str]
    """Webhooks of this factory by uid. Together with webhooks 1 to 50."""
    webhooks: Sequence[str]
    """Webhooks of this factory by name."""


class TriggerSchedule(TypedDict, total=False):
    cron: Required[str]
    overlap: Literal["skip", "queue"]
    timezone: str


class Trigger(TypedDict, total=False):
    event: Required[str]
    """received of webhook, cron_fired of schedule, finished of run; of github and gitlab such as
    issue_opened, pull_request_*, push or merge_request."""
    filter: TriggerFilter
    provider: Required[str]
    """webhook, schedule, run, github or gitlab. Others of the published grammar are kept and never
    fire."""
    schedule: str | TriggerSchedule
    """For provider schedule only: a cron expression (five fields, @daily and the like, or @every
    1h), or an object with cron, timezone (an IANA name; UTC when absent) and overlap (skip or
    queue)."""


class WebhookHMAC(TypedDict, total=False):
    digest: str
    """sha256 (default), sha1, sha384 or sha512."""
    encoding: str
    """hex (default) or base64."""
    header: Required[str]
    """Carries the signature."""
    id_header: str
    """Carries the delivery id; needed for {id}."""
    prefix: str
    """Stands before the signature, such as sha256=."""
    template: str
    """What is signed: {body} (default), or that with {timestamp}, {id}, {method} and {url}."""
    timestamp_header: str
    """Carries the time in Unix seconds or milliseconds; needed for {timestamp}."""
