"""I-3: the shared suite, for the client that waits."""

from __future__ import annotations

from itertools import islice
from typing import Any, Mapping

import behaviour
import pytest

import lineshaft


class Driver:
    """Does the call of one scenario."""

    def __init__(self, client: lineshaft.Lineshaft, call: Mapping[str, Any]) -> None:
        self.client = client
        self.call = call
        self.args: Mapping[str, Any] = call.get("args") or {}
        self.options = behaviour.options(call)
        self.came: list[Any] | None = None

    def value(self) -> Any:
        if "times" in self.call:
            return [self.once() for _ in range(self.call["times"])]
        return self.once()

    def once(self) -> Any:
        op = self.call["op"]
        method, args, kwargs = self.method(op)
        if self.call.get("raw"):
            answer = self.client.with_raw_response(method, *args, **kwargs)
            return behaviour.raw(answer, self.told(op, answer.value))
        return self.told(op, method(*args, **kwargs))

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

    def told(self, op: str, value: Any) -> Any:
        if op in ("runs.cancel", "runs.delete"):
            return None
        if op == "runs.list":
            return behaviour.page(value)
        if op in ("runs.list_all", "factories.list_all", "runs.stream"):
            self.came = []
            for item in islice(value, self.call.get("stop_after")):
                self.came.append(behaviour.plain(item))
            return self.came
        return behaviour.plain(value)


def drive(name: str) -> None:
    started = behaviour.script("/_/start", {"scenario": name})
    with lineshaft.Lineshaft(**behaviour.settings(started)) as client:
        behaviour.hurry(client)
        driver = Driver(client, started["call"])
        value, error = None, None
        try:
            value = driver.value()
        except (lineshaft.LineshaftError, ValueError) as failed:
            value, error = driver.came, failed
        # Before close, which would free what a call has left open.
        behaviour.finish(started, value, error)


NAMES = behaviour.scenarios()
AT_ONCE = behaviour.AtOnce(drive, NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_i3_behaviour(name: str) -> None:
    AT_ONCE.result(name)
