"""The official client of PyPI lists and calls every tool (I-4)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from support import MODES, Tools, api, connect, shell, unique

pytestmark = pytest.mark.anyio


async def look_around(tools: Tools, world: dict[str, Any]) -> None:
    factory = world["factory"]
    found = await tools.call("list_factories", {"search": factory["name"]})
    assert [f["uid"] for f in found["factories"]] == [factory["uid"]]
    found = await tools.call("list_agents", {"factory": factory["alias"]})
    assert [a["name"] for a in found["agents"]] == ["foreman"]
    found = await tools.call("list_automations", {"factory": factory["name"]})
    assert [a["uid"] for a in found["automations"]] == [world["automation"]["uid"]]
    found = await tools.call("list_webhooks", {"factory": factory["uid"]})
    assert [w["uid"] for w in found["webhooks"]] == [world["webhook"]["uid"]]


async def work(tools: Tools, world: dict[str, Any]) -> None:
    word = unique("word")
    arguments = {"prompt": shell(f"echo {word}"), "factory": world["factory"]["uid"], "idempotency_key": word}
    started = await tools.call("dispatch", arguments)
    again = await tools.call("dispatch", arguments)
    assert again["run_id"] == started["run_id"] and again["replayed"]
    run = {"run_id": started["run_id"]}
    while (waited := await tools.call("wait_for_run", {**run, "seconds": 50}))["waiting"]:
        pass
    assert waited["run"]["state"] == "SUCCEEDED", waited
    shown = await tools.call("get_run", run)
    assert shown["source"] == "MCP" and shown["factory_uid"] == world["factory"]["uid"]
    assert shown["untrusted"]["output"] == waited["run"]["untrusted"]["output"] == word
    log = await tools.call("get_run_events", {**run, "limit": 200})
    assert word in str(log["events"])
    listed = await tools.call("list_runs", {"factory": world["factory"]["uid"], "source": "MCP"})
    assert [r["run_id"] for r in listed["runs"]] == [started["run_id"]]


async def steer(tools: Tools) -> None:
    parked = api("POST", "/agent/runs", {"prompt": "wait", "config": {"name": "parked", "worker_host": "never-connected"}})
    run = {"run_id": parked["run_id"]}
    assert (await tools.call("follow_up", {**run, "message": "and hurry"}))["outcome"] == "queued_prompt"
    notes: list[str | None] = []
    first = anyio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        notes.append(message)
        first.set()

    async def cancel() -> None:  # nobody works on it: only this ends the wait
        await first.wait()
        assert (await tools.call("cancel_run", run))["state"] == "CANCELLED"

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(cancel)
            waited = await tools.call("wait_for_run", {**run, "seconds": 50}, progress_callback=note)
    assert notes[0] == "QUEUED" and waited["run"]["state"] == "CANCELLED"


async def look_at_deliveries(tools: Tools, world: dict[str, Any]) -> None:
    at = {"factory": world["factory"]["uid"], "webhook": "ci"}
    log = await tools.call("list_deliveries", at)
    assert log["deliveries"][0]["delivery_id"] == world["delivery"]
    one = await tools.call("get_delivery", {**at, "delivery_id": world["delivery"], "explain": True})
    assert one["untrusted"]["payload"] == {"status": "broken", "number": 1}
    wanted = {**at, "filter": {"payload": {"status": ["fixed"]}}}
    assert not (await tools.call("test_filter", {**wanted, "delivery_id": world["delivery"]}))["would_trigger"]
    assert (await tools.call("test_filter", {**wanted, "payload": {"status": "fixed"}}))["would_trigger"]


async def test_every_tool_is_listed_and_called(mode: str, world: dict[str, Any]) -> None:
    async with connect(mode) as tools:
        assert tools.version == MODES[mode]
        listed = await tools.list()
        assert len(listed) >= 14 and all(tool["description"] and tool["outputSchema"] for tool in listed)
        await look_around(tools, world)
        await work(tools, world)
        await steer(tools)
        await look_at_deliveries(tools, world)
        assert tools.called == {tool["name"] for tool in listed}


async def test_errors_say_what_to_do(mode: str) -> None:
    async with connect(mode) as tools:
        missing = await tools.ask("get_run", {"run_id": "nothing"})
        assert missing["isError"]
        assert missing["content"][0]["text"].startswith('resource_not_found: no run "nothing" here; check the id')
        wrong = await tools.ask("dispatch", {"prompt": 7})
        assert wrong["isError"] and wrong["content"][0]["text"].startswith("invalid_request: ")
        with pytest.raises(Exception, match="no tool"):
            await tools.ask("no_such_tool")


async def test_a_viewer_sees_what_viewers_may_use(mode: str) -> None:
    key = api("POST", "/apikeys", {"name": unique("viewer"), "role": "viewer"})["key"]
    async with connect(mode, key) as tools:
        names = {tool["name"] for tool in await tools.list()}
        assert "get_run" in names and not names & {"dispatch", "follow_up", "cancel_run"}
        refused = await tools.ask("dispatch", {"prompt": "x"})
        assert refused["content"][0]["text"].startswith("not_authorized: ")
