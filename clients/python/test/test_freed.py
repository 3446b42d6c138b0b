"""I-3: a call that is over has freed its connection, and a stream survives a wait that was cancelled."""

from __future__ import annotations

import asyncio
import json
from typing import Any, AsyncIterator

import anyio
import httpx
import pytest
from scripted import KEY, Handler, async_client, serving

import lineshaft


class Body(httpx.AsyncByteStream):
    """A body that goes on for ever, and takes a while to be closed, as a connection does."""

    def __init__(self) -> None:
        self.closed = False
        self.quiet = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        event = {"id": "e1", "sequence": 1, "type": "output", "time": "2026-01-01T00:00:00Z", "data": {}}
        yield f"id: 1\nevent: output\ndata: {json.dumps(event)}\n\n".encode()
        self.quiet = True
        await anyio.sleep_forever()

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed = True


def endless(kind: str) -> tuple[Body, lineshaft.AsyncLineshaft]:
    """A body, and a client whose every call is answered with it."""
    body = Body()

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": kind}, stream=body)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return body, lineshaft.AsyncLineshaft(base_url="http://lineshaft.test", api_key=KEY, http_client=http)


def test_i3_a_cancelled_call_is_freed_before_it_returns() -> None:
    async def run() -> None:
        body, made = endless("application/json")
        async with anyio.create_task_group() as group:
            group.start_soon(made.runs.get, "r1")
            while not body.quiet:
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
        assert body.closed

    anyio.run(run)


def test_i3_a_cancelled_stream_is_freed_before_it_returns() -> None:
    async def run() -> None:
        body, made = endless("text/event-stream")
        events = made.runs.stream("r1")
        assert (await events.__anext__()).sequence == 1
        with anyio.move_on_after(0.05) as scope:
            await events.__anext__()
        assert scope.cancelled_caught and body.closed

    anyio.run(run)


def test_i3_a_closed_stream_is_freed_and_over() -> None:
    async def run() -> None:
        body, made = endless("text/event-stream")
        async with made.runs.stream("r1") as events:
            assert (await events.__anext__()).sequence == 1
            assert not body.closed
        assert body.closed
        with pytest.raises(StopAsyncIteration):
            await events.__anext__()

    anyio.run(run)


def slow_log(handler: Handler) -> None:
    """Gives an event per connection and then nothing; the third is the last."""
    sequence = int(handler.headers.get("last-event-id") or 0) + 1
    handler.stream()
    if sequence == 3:
        handler.event(sequence, "state", to="SUCCEEDED")
        return
    handler.event(sequence)
    handler.until_gone()


async def patiently_with_asyncio(events: Any) -> Any:
    while True:
        try:
            return await asyncio.wait_for(events.__anext__(), 0.2)
        except asyncio.TimeoutError:
            pass


async def patiently_with_anyio(events: Any) -> Any:
    while True:
        with anyio.move_on_after(0.2):
            return await events.__anext__()


@pytest.mark.parametrize("patiently", [patiently_with_asyncio, patiently_with_anyio])
def test_i3_a_stream_goes_on_after_a_wait_that_was_cancelled(patiently: Any) -> None:
    async def run(url: str) -> list[int]:
        came: list[int] = []
        async with async_client(url) as made, made.runs.stream("r1") as events:
            while True:
                try:
                    came.append((await patiently(events)).sequence)
                except StopAsyncIteration:
                    return came

    with serving(slow_log) as server:
        assert anyio.run(run, server.url) == [1, 2, 3]
