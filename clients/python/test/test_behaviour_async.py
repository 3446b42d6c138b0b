"""I-3: the shared suite, for the client whose calls are awaited."""

from __future__ import annotations

from typing import Any, Mapping

import anyio
import behaviour
import pytest

import lineshaft
from lineshaft._pages import AsyncPages


class Driver:
    """Does the call of one scenario."""

    def __init__(self, client: lineshaft.AsyncLineshaft, call: Mapping[str, Any]) -> None:
        self.client = client
        self.call = call
        self.args: Mapping[str, Any] = call.get("args") or {}
        self.options = behaviour.options(call)
        self.came: list[Any] | None = None
        self.kept: list[Any] = []
        """What calls returned, so that no collector frees what they left open."""

    async def value(self) -> Any:
        if "times" in self.call:
            return [await self.once() for _ in range(self.call["times"])]
        return await self.once()

    async def once(self) -> Any:
        op = self.call["op"]
        method, args, kwargs = self.method(op)
        if self.call.get("raw"):
            answer = await self.client.with_raw_response(method, *args, **kwargs)
            return behaviour.raw(answer, await self.told(op, answer.value))
        found = method(*args, **kwargs)
        if op not in ("runs.list_all", "factories.list_all", "runs.stream"):
            found = await found
        return await self.told(op, found)

    def method(self, op: str) -> tuple[Any, list[Any], dict[str, Any]]:
        args, client, options = self.args, self.client, self.options
        body, query = args.get("body") or {}, args.get("query") or {}
        if op in ("runs.get", "runs.cancel", "runs.delete", "runs.rerun"):
            return getattr(client.runs, op.split(".")[1]), [args["run_id"]], {**options}
        if op in ("get", "delete"):
            return getattr(client, op), [args["path"]], {"query": query, **options}
        if op in ("post", "put", "patch"):
            return getattr(client, op), [args["path"]], {"query": query, "body": args.get("body"), **options}
        known: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
            "runs.create": (client.runs.create, [], {**body, **options}),
            "runs.followup": (client.runs.followup, [args.get("run_id")], {**body, **options}),
            "runs.list": (client.runs.list, [], {**query, **options}),
            "runs.list_all": (client.runs.list, [], {**query, **options}),
            "factories.list_all": (client.factories.list, [], {**query, **options}),
            "runs.stream": (client.runs.stream, [args.get("run_id")], {"after": args.get("after") or 0}),
            "runs.wait": (client.runs.wait, [args.get("run_id")], behaviour.waiting(args)),
            "factories.run": (client.factories.run, [args.get("factory_uid")], {**body, **options}),
            "server.whoami": (client.server.whoami, [], {**options}),
        }
        return known[op]

    async def told(self, op: str, value: Any) -> Any:
        if op in ("runs.cancel", "runs.delete"):
            return None
        if op == "runs.list":
            return behaviour.page(value)
        self.kept.append(value)
        if op == "runs.stream":
            async with value as events:
                return await self.collect(events)
        if isinstance(value, AsyncPages):
            return await self.collect(value)
        return behaviour.plain(value)

    async def collect(self, items: Any) -> list[Any]:
        self.came = []
        async for item in items:
            self.came.append(behaviour.plain(item))
            if len(self.came) == self.call.get("stop_after"):
                break
        return self.came


async def drive(name: str) -> None:
    started = await anyio.to_thread.run_sync(behaviour.script, "/_/start", {"scenario": name})
    value: Any = None
    error: Exception | str | None = None
    async with lineshaft.AsyncLineshaft(**behaviour.settings(started)) as client:
        behaviour.hurry(client)
        driver = Driver(client, started["call"])
        after = started["call"].get("cancel_after_ms")
        with anyio.move_on_after(None if after is None else after / 1000) as scope:
            try:
                value = await driver.value()
            except (lineshaft.LineshaftError, ValueError) as failed:
                value, error = driver.came, failed
        if scope.cancelled_caught:
            value, error = driver.came, "cancelled"
        # Before aclose, which would free what a call has left open.
        await anyio.to_thread.run_sync(behaviour.finish, started, value, error)


NAMES = behaviour.scenarios("cancel")
AT_ONCE = behaviour.AtOnce(lambda name: anyio.run(drive, name), NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_i3_behaviour_async(name: str) -> None:
    AT_ONCE.result(name)
