"""I-3: what the examples of the API hold is what the models hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineshaft import models
from lineshaft._answer import Answer
from lineshaft._model import Model
from lineshaft._pages import Page
from lineshaft._request import Request

EXAMPLES = Path(__file__).resolve().parents[3] / "api" / "examples"

ANSWERS: dict[str, Any] = {
    "agent_response": models.AgentResponse,
    "apply_definition_response": models.ApplyDefinitionResponse,
    "artifact_response": models.ArtifactResponse,
    "attachments_response": models.HandoffAttachmentsResponse,
    "automation": models.Automation,
    "conversation_response": models.ConversationResponse,
    "create_apikey_response": models.CreatedAPIKey,
    "create_webhook_response": models.IssuedWebhook,
    "delivery": models.DeliveryDetail,
    "environment": models.CloudEnvironment,
    "factory": models.Factory,
    "factory_definition": models.FactoryDefinition,
    "factory_run_response": models.FactoryRunResponse,
    "list_schemas_response": models.SchemaDocuments,
    "list_trigger_events_response": models.ListTriggerEventsResponse,
    "models_response": models.ListModelsResponse,
    "create_notification_response": models.IssuedNotification,
    "notification": models.Notification,
    "notification_delivery": models.NotificationDeliveryDetail,
    "plan_definition_response": models.PlanDefinitionResponse,
    "redeliver_response": models.RedeliverResponse,
    "repository_factory": models.Factory,
    "replay_notification_response": models.NotificationDelivery,
    "revision": models.DefinitionRevisionDetail,
    "run_agent_response": models.RunAgentResponse,
    "run_followup_response": models.RunFollowupResponse,
    "run_item": models.RunItem,
    "run_report_response": models.RunReportResponse,
    "schedule": models.ScheduledAgentItem,
    "schema_versions_response": models.SchemaVersions,
    "secret": models.Secret,
    "test_filter_response": models.TestFilterResponse,
    "test_notification_response": models.NotificationDelivery,
    "timeline_response": models.TimelineResponse,
    "validate_definition_response": models.ValidateDefinitionResponse,
    "test_webhook_response": models.TestWebhookResponse,
    "validate_files_response": models.ValidateFilesResponse,
    "webhook": models.Webhook,
    "whoami_response": models.WhoamiResponse,
}

LISTS: dict[str, tuple[str, Any]] = {
    "audit_response": ("entries", models.AuditEntry),
    "list_agent_identities_response": ("agents", models.AgentResponse),
    "list_agents_response": ("agents", models.AgentListItem),
    "list_apikeys_response": ("apikeys", models.APIKey),
    "list_automations_response": ("automations", models.Automation),
    "list_deliveries_response": ("deliveries", models.Delivery),
    "list_factory_deliveries_response": ("deliveries", models.LoggedDelivery),
    "list_environments_response": ("environments", models.CloudEnvironment),
    "list_factories_response": ("factories", models.Factory),
    "list_notification_deliveries_response": ("deliveries", models.NotificationDelivery),
    "list_notifications_response": ("notifications", models.Notification),
    "list_revisions_response": ("revisions", models.DefinitionRevision),
    "list_runs_response": ("runs", models.RunItem),
    "list_schedules_response": ("schedules", models.ScheduledAgentItem),
    "list_secrets_response": ("secrets", models.Secret),
    "list_webhooks_response": ("webhooks", models.Webhook),
    "run_events_response": ("events", models.RunEvent),
    "workers_response": ("workers", models.ConnectedSelfHostedWorker),
}


def example(name: str) -> bytes:
    return (EXAMPLES / f"{name}.json").read_bytes()


def same_times(value: Any) -> Any:
    """Times of the wire have six digits, ours only those that count."""
    if isinstance(value, dict):
        return {name: same_times(item) for name, item in value.items()}
    if isinstance(value, list):
        return [same_times(item) for item in value]
    if isinstance(value, str) and value.endswith("Z") and "." in value and "T" in value:
        return value.rstrip("Z").rstrip("0").rstrip(".") + "Z"
    return value


@pytest.mark.parametrize("name", ANSWERS)
def test_i3_examples_go_through_unchanged(name: str) -> None:
    parsed = ANSWERS[name].model_validate_json(example(name))
    written = parsed.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert same_times(written) == same_times(json.loads(example(name)))
    assert unknown(parsed) == []


@pytest.mark.parametrize("name", LISTS)
def test_i3_lists_go_through_unchanged(name: str) -> None:
    member, kind = LISTS[name]
    request = Request("GET", "/x")
    page: Page[Any] = Page(None, request, member, kind, Answer("GET", "/x", 200, {}, example(name)))  # type: ignore[arg-type]
    written = [item.model_dump(mode="json", by_alias=True, exclude_unset=True) for item in page.items]
    assert written and same_times(written) == same_times(json.loads(example(name))[member])


def test_i3_no_example_is_left_out() -> None:
    known = {*ANSWERS, *LISTS, "error"}
    requests = {path.stem for path in EXAMPLES.glob("*.json") if path.stem.endswith("request")}
    assert {path.stem for path in EXAMPLES.glob("*.json")} - known - requests == set()


def unknown(value: Any) -> list[str]:
    """The fields that the models do not have, however deep."""
    if isinstance(value, list):
        return [name for item in value for name in unknown(item)]
    if not isinstance(value, Model):
        return []
    inner = [name for field in type(value).model_fields for name in unknown(getattr(value, field))]
    return [*(value.model_extra or {}), *inner]


def test_i3_what_is_new_does_not_break() -> None:
    run = models.RunItem.model_validate({"run_id": "r", "state": "RESTING", "source": "PIGEON", "mood": {"good": True}})
    assert (run.state, run.source) == ("RESTING", "PIGEON")
    assert run.model_extra == {"mood": {"good": True}}
    assert getattr(run, "mood") == {"good": True}


def test_i3_what_an_older_server_does_not_send_is_none() -> None:
    run = models.RunItem.model_validate({})
    assert run.run_id is None and run.created_at is None
    assert repr(run) == "RunItem()"


def test_i3_a_step_may_hold_steps() -> None:
    field = next(
        name for name, f in models.ConversationStep.model_fields.items() if "ConversationStep" in str(f.annotation)
    )
    nested = models.ConversationStep.model_validate({field: [{field: [{}]}]})
    assert isinstance(getattr(nested, field)[0], models.ConversationStep)
