"""What a client offers, by noun. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from .._async_transport import AsyncTransport
from .._transport import Transport
from ..resources.runs import AsyncRuns, Runs
from .agents import Agents, AsyncAgents
from .apikeys import APIKeys, AsyncAPIKeys
from .artifacts import Artifacts, AsyncArtifacts
from .audit import AsyncAudit, Audit
from .automations import AsyncAutomations, Automations
from .conversations import AsyncConversations, Conversations
from .definitions import AsyncDefinitions, Definitions
from .deliveries import AsyncDeliveries, Deliveries
from .environments import AsyncEnvironments, Environments
from .factories import AsyncFactories, Factories
from .models import AsyncModels, Models
from .notifications import AsyncNotifications, Notifications
from .schedules import AsyncSchedules, Schedules
from .secrets import AsyncSecrets, Secrets
from .server import AsyncServer, Server
from .skills import AsyncSkills, Skills
from .webhooks import AsyncWebhooks, Webhooks
from .workers import AsyncWorkers, Workers


class Resources:
    """The resources of a client."""

    def __init__(self, transport: Transport) -> None:
        self.runs = Runs(transport)
        self.conversations = Conversations(transport)
        self.artifacts = Artifacts(transport)
        self.agents = Agents(transport)
        self.environments = Environments(transport)
        self.schedules = Schedules(transport)
        self.factories = Factories(transport)
        self.definitions = Definitions(transport)
        self.automations = Automations(transport)
        self.webhooks = Webhooks(transport)
        self.deliveries = Deliveries(transport)
        self.notifications = Notifications(transport)
        self.secrets = Secrets(transport)
        self.apikeys = APIKeys(transport)
        self.skills = Skills(transport)
        self.models = Models(transport)
        self.workers = Workers(transport)
        self.audit = Audit(transport)
        self.server = Server(transport)


class AsyncResources:
    """The resources of a client."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.runs = AsyncRuns(transport)
        self.conversations = AsyncConversations(transport)
        self.artifacts = AsyncArtifacts(transport)
        self.agents = AsyncAgents(transport)
        self.environments = AsyncEnvironments(transport)
        self.schedules = AsyncSchedules(transport)
        self.factories = AsyncFactories(transport)
        self.definitions = AsyncDefinitions(transport)
        self.automations = AsyncAutomations(transport)
        self.webhooks = AsyncWebhooks(transport)
        self.deliveries = AsyncDeliveries(transport)
        self.notifications = AsyncNotifications(transport)
        self.secrets = AsyncSecrets(transport)
        self.apikeys = AsyncAPIKeys(transport)
        self.skills = AsyncSkills(transport)
        self.models = AsyncModels(transport)
        self.workers = AsyncWorkers(transport)
        self.audit = AsyncAudit(transport)
        self.server = AsyncServer(transport)
