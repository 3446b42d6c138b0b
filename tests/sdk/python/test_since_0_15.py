"""Calls that older releases of the client do not have."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from conftest import Many
from oz_agent_sdk import BadRequestError, NotFoundError, OzAPI, UnprocessableEntityError
from support import UNKNOWN, client, ended, output, parked, shell, stream, unique


def test_r4_metadata_as_an_object_in_the_query(many: Many) -> None:
    found = client().agent.runs.list(metadata={"batch": many.name, "third": "1"}, limit=100)
    assert sorted(run.run_id for run in found) == sorted(many.ids[1::3])
    assert list(client().agent.runs.list(metadata={"batch": many.name, "third": "7"})) == []


def test_r2_metadata_comes_back() -> None:
    run_id = client().agent.run(prompt="x", config=parked(unique("meta")), metadata={"ticket": "T-1", "empty": ""}).run_id
    assert client().agent.runs.retrieve(run_id).metadata == {"ticket": "T-1", "empty": ""}
    client().agent.runs.cancel(run_id)


def test_r4_executor_environment_and_ancestor(many: Many) -> None:
    run = client().agent.runs.retrieve(many.ids[0])
    assert run.executor is not None and run.executor.uid is not None
    assert run.is_run_type_cancellable is True
    total = len(many.ids)
    assert len(list(client().agent.runs.list(name=many.name, executor=run.executor.uid, limit=500))) == total
    assert len(list(client().agent.runs.list(name=many.name, environment_id="empty-environment", limit=500))) == total
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


def new_factory() -> str:
    made: Any = client().post("/factory", body={"name": unique("factory")}, cast_to=object)
    return made["uid"]


def test_f8_an_agent_from_creation_to_deletion() -> None:
    agents = client(_strict_response_validation=True).agent.agent
    factory = new_factory()
    made = agents.create(
        name="reviewer",
        agent_type="REVIEW",
        factory_uid=factory,
        description="d",
        prompt="You review.",
        harness={"type": "claude", "model_id": "opus"},
        mcp_servers={"docs": {"url": "https://docs.example/mcp", "headers": {"X-Key": "{{DOCS_KEY}}"}}},
        skills=["acme/tools:greet"],
    )
    assert (made.name, made.agent_type, made.factory_uid, made.available) == ("reviewer", "REVIEW", factory, True)
    assert made.memory.attached_stores == [] and made.memory.auto_memory.enabled is False
    assert made.harness is not None and made.harness.type == "claude" and made.skills == ["acme/tools:greet"]
    assert made.mcp_servers is not None and made.mcp_servers["docs"].headers == {"X-Key": "{{DOCS_KEY}}"}
    assert agents.get(made.uid) == made
    assert [agent.name for agent in agents.list(factory_uid=factory).agents] == ["foreman", "reviewer"]
    assert made.uid in [agent.uid for agent in agents.list().agents]
    kept = agents.update(made.uid, description=None, secrets=None)
    assert kept.description == "d"
    changed = agents.update(made.uid, name="critic", description="", harness={}, base_model="some-model", skills=[])
    assert (changed.name, changed.description, changed.harness, changed.base_model, changed.skills) == ("critic", None, None, "some-model", [])
    assert changed.prompt == "You review."
    agents.delete(made.uid)
    with pytest.raises(NotFoundError):
        agents.get(made.uid)
    with pytest.raises(BadRequestError):  # a factory keeps its foreman
        agents.delete(agents.list(factory_uid=factory).agents[0].uid)


def test_r2_a_run_of_an_agent() -> None:
    agents, factory = client().agent.agent, new_factory()
    made = agents.create(name="worker", factory_uid=factory, prompt="You work.", base_model="some-model", worker_host="never-connected")
    run = client().agent.runs.retrieve(client().agent.run(prompt="x", agent_identity_uid=made.uid).run_id)
    assert run.executor is not None and (run.executor.uid, run.executor.type) == (made.uid, "service_account")
    config = run.agent_config
    assert config is not None and (config.base_prompt, config.worker_host) == ("You work.", "never-connected")
    assert [found.run_id for found in client().agent.runs.list(executor=made.uid)] == [run.run_id]
    for config in ({"worker_host": "elsewhere"}, {"environment_id": "none"}):
        with pytest.raises(BadRequestError):
            client().agent.run(prompt="x", agent_identity_uid=made.uid, config=config)
    with pytest.raises(BadRequestError):
        client().agent.run(prompt="x", agent_identity_uid=UNKNOWN)
    client().agent.runs.cancel(run.run_id)


def test_f1_work_for_a_factory() -> None:
    factory = new_factory()
    done: Any = client().post(f"/factory/{factory}/runs", body={"prompt": shell("true"), "ticket_ref": "jira:A-1"}, cast_to=object)
    assert (done["factory_uid"], done["foreman_agent"], done["ticket_ref"]) == (factory, "foreman", "jira:A-1")
    assert done["run_url"].endswith(done["run_id"])
    run = ended(done["run_id"])
    assert run.metadata == {"ticket_source": "jira", "ticket_id": "A-1"}
    assert [found.run_id for found in client().agent.runs.list(factory_uid=factory)] == [done["run_id"]]


def test_x9_list_environments() -> None:
    name = unique("environment")
    body = {"config": {"name": name, "github_repos": [{"owner": "acme", "repo": "shop"}], "setup_commands": ["true"]}}
    made: Any = client().post("/agent/environments", cast_to=object, body=body)
    for sort_by in ("name", "last_updated"):
        found = client(_strict_response_validation=True).agent.list_environments(sort_by=sort_by).environments
        mine = next(one for one in found if one.uid == made["uid"])
        assert mine.config.name == name and mine.setup_failed is False and mine.last_task_run_timestamp is None
        assert mine.config.github_repos is not None and mine.config.github_repos[0].repo == "shop"
    client().delete(f"/agent/environments/{made['uid']}", cast_to=object)


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.agent.agent.create(name="n", on_behalf_of_enabled=True),
        lambda it: it.agent.agent.create(name="n", memory={"auto_memory": {"enabled": True}}),
        lambda it: it.agent.run(prompt="x", mode="plan"),
        lambda it: it.agent.run(prompt="x", on_behalf_of="someone@example.com"),
        lambda it: it.agent.run(prompt="x", config={"credential_strategy": "CREATOR"}),
        lambda it: it.agent.run(prompt="x", config={"session_sharing": {"public_access": "VIEWER"}}),
    ],
    ids=["on_behalf_of_enabled", "memory", "mode", "on_behalf_of", "credentials", "sharing"],
)
def test_422_is_unprocessable_for_what_is_not_offered(call: Callable[[OzAPI], Any]) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        call(client())
    assert caught.value.body["code"] == "operation_not_supported"  # type: ignore[index]
