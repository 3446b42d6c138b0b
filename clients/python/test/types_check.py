"""What a type checker must find, and must not: each line that is wrong says so, and a
remark on a line that is right is an error of its own. pyright reads this; nothing runs it."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from datetime import datetime

from typing_extensions import assert_type

import lineshaft
from lineshaft import models


def right(client: lineshaft.Lineshaft) -> None:
    started = client.runs.create(prompt="x", config={"model_id": "m", "harness": {"type": "shell"}}, timeout=3)
    assert_type(started.run_id, str)
    run = client.runs.get(started.run_id)
    assert_type(run.created_at, datetime)
    client.runs.create(prompt="again", config=run.agent_config)
    for each in client.runs.list(state=["FAILED", "ERROR"], created_after=datetime.now()):
        assert_type(each, models.RunItem)
    for event in client.runs.stream("r"):
        assert_type(event, models.RunEvent)
    assert_type(client.with_raw_response(client.runs.get, "r").value, models.RunItem)
    assert_type(client.runs.delete("r"), None)
    client.factories.update("f", repository=None)
    client.webhooks.create("f", name="ci", auth_mode="signature", signature_scheme="github")
    lineshaft.webhooks.sign("github", "secret", b"{}")


async def right_async(client: lineshaft.AsyncLineshaft) -> None:
    assert_type((await client.runs.create(prompt="x")).run_id, str)
    assert_type(await client.runs.list(), lineshaft.AsyncPage[models.RunItem])
    async for run in client.runs.list():
        assert_type(run, models.RunItem)
    async for event in client.runs.stream("r"):
        assert_type(event, models.RunEvent)
    raw = await client.with_raw_response(client.runs.get, "r")
    assert_type(raw.value, models.RunItem)
    pages = await client.with_raw_response(client.runs.list, limit=3)
    assert_type(pages.value, lineshaft.AsyncPage[models.RunItem])


def wrong(client: lineshaft.Lineshaft) -> None:
    client.runs.create(promt="x")  # pyright: ignore[reportCallIssue]
    client.runs.create(prompt=3)  # pyright: ignore[reportArgumentType]
    client.runs.create(config={"modelid": "m"})  # pyright: ignore[reportArgumentType]
    client.runs.create(config={"harness": {"type": "shel"}})  # pyright: ignore[reportArgumentType]
    client.runs.list(state="DONE")  # pyright: ignore[reportArgumentType]
    client.runs.get()  # pyright: ignore[reportCallIssue]
    client.runs.get("r", timeout="3")  # pyright: ignore[reportArgumentType]
    print(client.runs.get("r").no_such_field)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    client.webhooks.create("f")  # pyright: ignore[reportCallIssue]
    client.with_raw_response(client.runs.get)  # pyright: ignore[reportCallIssue]
    lineshaft.webhooks.sign("git hub", "secret", b"{}")  # pyright: ignore[reportArgumentType]
