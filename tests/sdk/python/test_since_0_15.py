"""Calls that older releases of the client do not have."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from conftest import Thousand
from oz_agent_sdk import OzAPI, UnprocessableEntityError
from support import UNKNOWN, client, ended, output, parked, shell, stream, unique


def test_r4_metadata_as_an_object_in_the_query(thousand: Thousand) -> None:
    found = client().agent.runs.list(metadata={"batch": thousand.name, "third": "1"}, limit=100)
    assert sorted(run.run_id for run in found) == sorted(thousand.ids[1::3])
    assert list(client().agent.runs.list(metadata={"batch": thousand.name, "third": "7"})) == []


def test_r2_metadata_comes_back() -> None:
    run_id = client().agent.run(prompt="x", config=parked(unique("meta")), metadata={"ticket": "T-1", "empty": ""}).run_id
    assert client().agent.runs.retrieve(run_id).metadata == {"ticket": "T-1", "empty": ""}
    client().agent.runs.cancel(run_id)


def test_r4_executor_environment_and_ancestor(thousand: Thousand) -> None:
    run = client().agent.runs.retrieve(thousand.ids[0])
    assert run.executor is not None and run.executor.uid is not None
    assert run.is_run_type_cancellable is True
    total = len(thousand.ids)
    assert len(list(client().agent.runs.list(name=thousand.name, executor=run.executor.uid, limit=500))) == total
    assert len(list(client().agent.runs.list(name=thousand.name, environment_id="empty-environment", limit=500))) == total
    parent = client().agent.run(prompt="parent", config=parked(unique("parent"))).run_id
    child = client().agent.run(prompt="child", config=parked(unique("child")), parent_run_id=parent).run_id
    assert [found.run_id for found in client().agent.runs.list(ancestor_run_id=parent)] == [child]


def test_r6_submit_followup_is_one_more_turn() -> None:
    run_id = client().agent.run(prompt=shell("echo first"), config={"name": unique("followup")}).run_id
    ended(run_id)
    answer: Any = client().agent.runs.submit_followup(run_id, message=shell("echo second"))
    assert answer["outcome"] == "handoff_execution"
    assert output(list(stream(run_id))) == "first\nsecond\n"


def test_r6_a_follow_up_before_the_start_joins_the_prompt() -> None:
    run_id = client().agent.run(prompt="first", config=parked(unique("queued"))).run_id
    answer: Any = client().agent.runs.submit_followup(run_id, message="second")
    assert answer["outcome"] == "queued_prompt"
    assert client().agent.runs.retrieve(run_id).to_dict()["submitted_prompt"] == "first\n\nsecond"
    client().agent.runs.cancel(run_id)


def test_r10_handoff_attachments_of_a_run() -> None:
    run_id = client().agent.run(prompt=shell("echo kept >kept.txt"), config={"name": unique("handoff")}).run_id
    ended(run_id)
    found = client(_strict_response_validation=True).agent.runs.list_handoff_attachments(run_id)
    assert isinstance(found.attachments, list)


def test_a_conversation_leads_to_its_session_without_a_key() -> None:
    run = ended(client().agent.run(prompt=shell("true"), config={"name": unique("redirect")}).run_id)
    assert client(api_key="none").agent.conversations.check_redirect(run.conversation_id).session_id == run.session_id


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.agent.list_environments(),
        lambda it: it.agent.agent.list(),
        lambda it: it.agent.agent.create(name="n"),
        lambda it: it.agent.agent.get(UNKNOWN),
        lambda it: it.agent.agent.update(UNKNOWN, name="n"),
        lambda it: it.agent.agent.delete(UNKNOWN),
        lambda it: it.agent.run(prompt="x", mode="plan"),
        lambda it: it.agent.run(prompt="x", on_behalf_of="someone@example.com"),
        lambda it: it.agent.run(prompt="x", config={"credential_strategy": "CREATOR"}),
        lambda it: it.agent.run(prompt="x", config={"session_sharing": {"public_access": "VIEWER"}}),
    ],
    ids=["environments", "list", "create", "get", "update", "delete", "mode", "on_behalf_of", "credentials", "sharing"],
)
def test_422_is_unprocessable_for_what_is_not_offered(call: Callable[[OzAPI], Any]) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        call(client())
    assert caught.value.body["code"] == "operation_not_supported"  # type: ignore[index]
