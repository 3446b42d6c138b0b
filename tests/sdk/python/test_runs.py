"""One run, from creation to its end, through the published client."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from oz_agent_sdk import AsyncOzAPI, OzAPI
from oz_agent_sdk.types.agent import RunItem
from pydantic import ValidationError
from support import ADMIN_KEY, SERVER, client, ended, options, output, parked, shell, stream, unique


def strict(run_id: str) -> RunItem:
    """The run, whose JSON must fit the client's model exactly, without conversions: but for
    the agent of runs that name none and find no model, which is not among the client's."""
    raw = client().agent.runs.with_raw_response.retrieve(run_id)
    run = json.loads(raw.http_response.content)
    if (run.get("agent_config") or {}).get("harness") == {"type": "shell"}:
        del run["agent_config"]["harness"]
    return RunItem.model_validate_json(json.dumps(run), strict=True)


def start(prompt: str, word: str, **more: object) -> str:
    return client().agent.run(prompt=prompt, config={"name": unique(word)}, **more).run_id  # type: ignore[arg-type]


def test_r1_run_answers_with_a_queued_run() -> None:
    validating = client(_strict_response_validation=True)
    started = validating.agent.run(prompt="hello", config=parked(unique("start")))
    assert started.state == "QUEUED"
    assert started.task_id == started.run_id
    assert strict(started.run_id).state == "QUEUED"
    validating.agent.runs.cancel(started.run_id)


def test_the_client_finds_server_and_key_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OZ_API_BASE_URL", f"{SERVER}/api/v1")
    monkeypatch.setenv("WARP_API_KEY", ADMIN_KEY)
    assert OzAPI().agent.runs.list(limit=1).page_info is not None


def test_r5_retrieve_gives_back_what_was_asked_for() -> None:
    name = unique("retrieve")
    config = {
        **parked(name),
        "model_id": "some-model",
        "base_prompt": "Be brief.",
        "idle_timeout_minutes": 5,
        "computer_use_enabled": False,
        "mcp_servers": {"docs": {"url": "https://docs.example/mcp"}, "local": {"command": "tool", "args": ["-v"]}},
    }
    run_id = client().agent.run(prompt="line one\nline two", title="A title", config=config).run_id  # type: ignore[arg-type]
    run = strict(run_id)
    assert (run.run_id, run.task_id, run.title, run.prompt) == (run_id, run_id, "A title", "line one\nline two")
    assert (run.state, run.source, run.started_at) == ("QUEUED", "API", None)
    assert run.created_at.tzinfo is not None
    assert run.agent_config is not None
    assert run.agent_config.name == name
    assert run.agent_config.base_prompt == "Be brief."
    assert run.agent_config.worker_host == "never-connected"
    assert run.agent_config.to_dict()["model_id"] == "some-model"
    assert run.agent_config.to_dict()["idle_timeout_minutes"] == 5
    assert run.agent_config.mcp_servers is not None
    assert run.agent_config.mcp_servers["local"].args == ["-v"]
    assert run.execution_location == "REMOTE"
    assert run.scope is not None and run.scope.type == "Team"
    assert run.session_link is not None and run.session_link.endswith(f"/runs/{run_id}")
    client().agent.runs.cancel(run_id)


def test_x6_a_shell_block_executes_and_succeeds_with_its_output() -> None:
    run_id = start(shell('echo "out $((6 * 7))"', "echo to-stderr >&2"), "shell")
    events = list(stream(run_id))
    assert output(events) == "out 42\n"
    assert output(events, "stderr") == "to-stderr\n"
    assert [e["sequence"] for e in events] == list(range(1, len(events) + 1))
    run = strict(run_id)
    assert run.state == "SUCCEEDED"
    assert run.started_at is not None and run.created_at <= run.started_at <= run.updated_at


def test_a_failing_block_makes_the_run_fail_and_says_why() -> None:
    run_id = start(shell("exit 3"), "fails")
    run = ended(run_id)
    assert run.state == "FAILED"
    assert "3" in run.status_message.message
    # The documentation of the published API has this code, its client's list has not:
    # a value outside what the client declares.
    assert run.status_message.error_code == "agent_process_failed"
    with pytest.raises(ValidationError) as caught:
        strict(run_id)
    assert {error["loc"] for error in caught.value.errors()} == {("status_message", "error_code")}


def test_r11_files_and_pull_requests_are_artifacts() -> None:
    run_id = start(
        shell('printf "the report" >"$LINESHAFT_ARTIFACTS/report.txt"', "echo see https://github.com/octo/repo/pull/7"), "artifact"
    )
    ended(run_id)
    artifacts = {item.artifact_type: item for item in strict(run_id).artifacts or []}
    assert set(artifacts) == {"FILE", "PULL_REQUEST"}
    assert artifacts["PULL_REQUEST"].data.to_dict()["url"] == "https://github.com/octo/repo/pull/7"
    uid = artifacts["FILE"].data.to_dict()["artifact_uid"]
    found = client(_strict_response_validation=True).agent.get_artifact(str(uid))
    assert found.artifact_type == "FILE"
    assert found.data.filename == "report.txt"
    assert client().get(f"/agent/artifacts/{uid}/download", cast_to=str) == "the report"


def test_r2_attachments_lie_in_the_workspace() -> None:
    attachment = {"file_name": "note.txt", "mime_type": "text/plain", "data": base64.b64encode(b"attached\n").decode()}
    run_id = start(shell("find . -name note.txt -exec cat {} +"), "attach", attachments=[attachment])
    assert output(list(stream(run_id))) == "attached\n"


def test_r7_cancel_gives_the_raw_text_and_ends_the_run() -> None:
    run_id = client().agent.run(prompt="wait", config=parked(unique("cancel"))).run_id
    answer = client().agent.runs.cancel(run_id)
    assert answer == json.dumps(run_id)
    assert strict(run_id).state == "CANCELLED"


def test_r7_cancel_ends_a_run_that_is_executing() -> None:
    run_id = start(shell("mkfifo gate", "echo started", "read never <gate"), "cancel-live")
    for event in stream(run_id):
        if event["type"] == "output":
            client().agent.runs.cancel(run_id)
    assert strict(run_id).state == "CANCELLED"


def test_r6_a_follow_up_is_one_more_turn() -> None:
    run_id = start(shell("echo first"), "followup")
    ended(run_id)
    answer = client().post(f"/agent/runs/{run_id}/followups", cast_to=object, body={"message": shell("echo second")})
    assert answer["outcome"] == "handoff_execution"  # type: ignore[index]
    assert output(list(stream(run_id))) == "first\nsecond\n"
    assert strict(run_id).state == "SUCCEEDED"


def test_r10_timeline_conversation_transcript_events() -> None:
    run_id = start(shell("echo told"), "story")
    run = ended(run_id)
    timeline = client().get(f"/agent/runs/{run_id}/timeline", cast_to=object)["events"]  # type: ignore[index]
    assert [timeline[0]["event_type"], timeline[-1]["event_type"]] == ["oz_run_created", "oz_run_done"]
    conversation = client().get(f"/agent/runs/{run_id}/conversation", cast_to=object)
    assert conversation["conversation_id"] == run.conversation_id  # type: ignore[index]
    assert "told" in json.dumps(conversation)
    transcript = client().get(f"/agent/runs/{run_id}/transcript", cast_to=str)
    assert all(json.loads(line) for line in transcript.splitlines())
    events = client().get(f"/agent/runs/{run_id}/events", cast_to=object, options={"params": {"after": 2, "limit": 1}})
    assert [event["sequence"] for event in events["events"]] == [3]  # type: ignore[index]


def test_a_session_leads_to_its_conversation_without_a_key() -> None:
    run = ended(start(shell("true"), "session"))
    anybody = client(api_key="none")
    assert anybody.agent.sessions.check_redirect(run.session_id).conversation_id == run.conversation_id


def test_a_child_run_names_its_parent() -> None:
    parent = client().agent.run(prompt="parent", config=parked(unique("parent"))).run_id
    child = client().agent.run(prompt="child", config=parked(unique("child")), parent_run_id=parent).run_id
    assert strict(child).parent_run_id == parent
    for run_id in (child, parent):
        client().agent.runs.cancel(run_id)


def test_the_asynchronous_client_runs_and_cancels() -> None:
    async def story() -> None:
        async with AsyncOzAPI(**options()) as it:
            started = await it.agent.run(prompt=shell("echo async"), config={"name": unique("async")})
            assert output(await asyncio.to_thread(lambda: list(stream(started.run_id)))) == "async\n"
            assert (await it.agent.runs.retrieve(started.run_id)).state == "SUCCEEDED"
            waiting = await it.agent.run(prompt="x", config=parked(unique("async")))
            assert json.loads(await it.agent.runs.cancel(waiting.run_id)) == waiting.run_id

    asyncio.run(story())
