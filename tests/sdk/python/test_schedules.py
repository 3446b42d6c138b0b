"""Schedules, from creation to deletion, through the published client."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Callable

import oz_agent_sdk as sdk
import pytest
from oz_agent_sdk.types.agent import ScheduledAgentItem
from support import UNKNOWN, client, key_for, parked, unique

WHOLE: dict[str, Any] = {"cron_schedule": "0 9 * * 1-5", "prompt": "look", "enabled": True}


def strict(schedule_id: str) -> ScheduledAgentItem:
    """The schedule, whose JSON must fit the client's model exactly, without conversions."""
    raw = client().agent.schedules.with_raw_response.retrieve(schedule_id)
    return ScheduledAgentItem.model_validate_json(raw.http_response.content, strict=True)


def test_f9_a_schedule_from_creation_to_deletion() -> None:
    schedules = client(_strict_response_validation=True).agent.schedules
    name = unique("schedule")
    made = schedules.create(
        name=name, **WHOLE, agent_config=parked(name), extra_body={"metadata": {"k": "v"}, "timezone": "Europe/Berlin", "overlap": "skip"}
    )
    assert (made.name, made.cron_schedule, made.prompt, made.enabled) == (name, "0 9 * * 1-5", "look", True)
    item = strict(made.id)
    assert item.history is not None and item.history.last_ran is None
    assert item.history.next_run is not None and item.history.next_run > datetime.now(timezone.utc)
    assert item.agent_config is not None and item.agent_config.worker_host == "never-connected"
    assert item.last_spawn_error is None
    assert item.created_by is not None and item.created_by.display_name
    assert item.scope is not None and item.scope.type == "Team"
    assert item.to_dict()["timezone"] == "Europe/Berlin"

    changed = schedules.update(made.id, name=name, **{**WHOLE, "cron_schedule": "@daily"})
    assert changed.cron_schedule == "@daily"
    assert "timezone" not in strict(made.id).to_dict()

    assert schedules.pause(made.id).enabled is False
    paused = strict(made.id)
    assert paused.history is not None and paused.history.next_run is None
    assert schedules.resume(made.id).enabled is True

    assert schedules.delete(made.id).success is True
    with pytest.raises(sdk.NotFoundError):
        schedules.retrieve(made.id)


def test_f9_the_list_is_by_name() -> None:
    schedules = client(_strict_response_validation=True).agent.schedules
    word = unique("list")
    ids = [schedules.create(name=f"{word}-{letter}", **WHOLE).id for letter in "cab"]
    found = [item.id for item in schedules.list().schedules if item.name.startswith(word)]
    assert found == [ids[1], ids[2], ids[0]]
    for schedule_id in ids:
        schedules.delete(schedule_id)


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.retrieve(UNKNOWN),
        lambda it: it.update(UNKNOWN, name="n", **WHOLE),
        lambda it: it.delete(UNKNOWN),
        lambda it: it.pause(UNKNOWN),
        lambda it: it.resume(UNKNOWN),
    ],
    ids=["retrieve", "update", "delete", "pause", "resume"],
)
def test_f9_404_for_an_unknown_schedule(call: Callable[[Any], Any]) -> None:
    with pytest.raises(sdk.NotFoundError):
        call(client().agent.schedules)


def test_f9_400_names_the_field() -> None:
    with pytest.raises(sdk.BadRequestError) as caught:
        client().agent.schedules.create(name="n", cron_schedule="61 * * * *", prompt="p")
    assert caught.value.body["detail"].startswith("cron_schedule: ")  # type: ignore[index]


def test_s3_viewers_read_and_members_do_not_change() -> None:
    assert client(api_key=key_for("viewer")).agent.schedules.list().schedules is not None
    with pytest.raises(sdk.PermissionDeniedError):
        client(api_key=key_for("member")).agent.schedules.create(name="n", **WHOLE)
