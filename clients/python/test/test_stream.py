"""I-3: streams give each event once and in order, whatever happens to connections."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from scripted import Handler, async_client, client, serving

import lineshaft
from lineshaft._retry import Backoff
from lineshaft._sse import Frame, FrameReader, FrameTooLarge

EVENTS = 200
CUTS = 100


def cutter() -> Any:
    """Answers a log whose connections are cut in the midst of an event, again and again."""
    state = {"connections": 0}

    def answer(handler: Handler) -> None:
        if not handler.path.endswith("/events"):
            handler.reply(200, {"run_id": "r1", "state": "INPROGRESS"})
            return
        state["connections"] += 1
        after = int(handler.headers.get("last-event-id") or 0)
        handler.stream()
        last = EVENTS if state["connections"] > CUTS else min(after + 1 + state["connections"] % 3, EVENTS - 1)
        if after > 2:
            handler.event(after - 1)  # what a careless proxy repeats
        for sequence in range(after + 1, last + 1):
            if sequence == EVENTS:
                handler.event(sequence, "state", to="SUCCEEDED")
            else:
                handler.event(sequence, text="ä" * sequence)
        if state["connections"] <= CUTS:
            handler.wfile.write(f'id: {last + 1}\ndata: {{"id": "e", "sequ'.encode())

    answer.state = state  # type: ignore[attr-defined]
    return answer


def test_i3_a_stream_cut_a_hundred_times() -> None:
    answer = cutter()
    with serving(answer) as server, client(server.url) as made:
        sequences = [event.sequence for event in made.runs.stream("r1")]
    assert sequences == list(range(1, EVENTS + 1))
    assert answer.state["connections"] == CUTS + 1


def test_i3_a_stream_cut_a_hundred_times_async() -> None:
    answer = cutter()

    async def run(url: str) -> list[int]:
        async with async_client(url) as made:
            return [event.sequence async for event in made.runs.stream("r1")]

    with serving(answer) as server:
        assert anyio.run(run, server.url) == list(range(1, EVENTS + 1))
    assert answer.state["connections"] == CUTS + 1


def ended_log(events: int, at_once: int, connections: list[Handler]) -> Any:
    """Answers the log of a run that has ended, over connections that a proxy ends in good
    order after a few events. No event tells of the end."""

    def answer(handler: Handler) -> None:
        if not handler.path.endswith("/events"):
            handler.reply(200, {"run_id": "r1", "state": "SUCCEEDED"})
            return
        connections.append(handler)
        after = int(handler.headers.get("last-event-id") or 0)
        handler.stream()
        for sequence in range(after + 1, min(after + at_once, events) + 1):
            handler.event(sequence)

    return answer


@pytest.mark.parametrize("at_once", [1, 3, 10])
def test_i3_the_log_of_an_ended_run_over_connections_that_end_in_good_order(at_once: int) -> None:
    connections: list[Handler] = []
    with serving(ended_log(10, at_once, connections)) as server, client(server.url) as made:
        assert [event.sequence for event in made.runs.stream("r1")] == list(range(1, 11))
    assert len(connections) == -(-10 // at_once) + 1  # the last one shows that there is no more


@pytest.mark.parametrize("at_once", [1, 3, 10])
def test_i3_the_log_of_an_ended_run_over_connections_that_end_in_good_order_async(at_once: int) -> None:
    async def run(url: str) -> list[int]:
        async with async_client(url) as made:
            return [event.sequence async for event in made.runs.stream("r1")]

    with serving(ended_log(10, at_once, [])) as server:
        assert anyio.run(run, server.url) == list(range(1, 11))


def half_frames(handler: Handler) -> None:
    handler.stream()
    handler.wfile.write(b'retry: 1\n\nid: 1\ndata: {"id": "e1", "sequ')


def test_i3_half_frames_are_no_sign_of_life() -> None:
    with serving(half_frames) as server, client(server.url, stream_retries=3) as made:
        pauses: list[float] = []
        made._transport.sleep = pauses.append
        made._transport.settings = made._transport.settings.changed(backoff=Backoff(jitter=lambda: 0.0))
        with pytest.raises(lineshaft.StreamError, match="gave up after 4 connections") as failed:
            list(made.runs.stream("r1"))
        assert failed.value.gave_up and len(server.requests) == 4
    assert pauses == [0.5, 1, 2]


def test_i3_half_frames_are_no_sign_of_life_async() -> None:
    async def run(url: str) -> None:
        async with async_client(url, stream_retries=3) as made:
            with pytest.raises(lineshaft.StreamError, match="gave up after 4 connections"):
                async for _ in made.runs.stream("r1"):
                    pass

    with serving(half_frames) as server:
        anyio.run(run, server.url)
        assert len(server.requests) == 4


def test_i3_an_event_that_comes_again_is_no_sign_of_life() -> None:
    def answer(handler: Handler) -> None:
        handler.stream()
        handler.event(1)
        handler.wfile.write(b"data: ")

    with serving(answer) as server, client(server.url, stream_retries=2) as made:
        with pytest.raises(lineshaft.StreamError, match="gave up"):
            list(made.runs.stream("r1", after=1))
        assert len(server.requests) == 3


def test_i3_a_heartbeat_is_a_sign_of_life() -> None:
    def answer(handler: Handler) -> None:
        handler.stream()
        if len(handler.server.requests) < 9:
            handler.wfile.write(b": heartbeat\n\ndata: ")
        else:
            handler.event(1, "state", to="SUCCEEDED")

    with serving(answer) as server, client(server.url, stream_retries=1) as made:
        assert [event.sequence for event in made.runs.stream("r1")] == [1]
        assert len(server.requests) == 9


def endless(handler: Handler) -> None:
    handler.stream()
    handler.event(1)
    handler.until_gone()


def test_i3_leaving_the_loop_frees_the_connection() -> None:
    with serving(endless) as server, client(server.url) as made:
        for _ in made.runs.stream("r1"):
            break
        assert server.gone.wait(60)


def test_i3_closing_a_stream_frees_the_connection() -> None:
    with serving(endless) as server, client(server.url) as made:
        with made.runs.stream("r1") as events:
            assert next(events).sequence == 1
        assert server.gone.wait(60)
        with pytest.raises(StopIteration):
            next(events)


def test_i3_cancelling_a_stream_frees_the_connection() -> None:
    async def run(url: str) -> None:
        async with async_client(url) as made:
            with anyio.CancelScope() as scope:
                async for _ in made.runs.stream("r1"):
                    scope.cancel()  # takes effect at the wait for the next
            assert scope.cancelled_caught

    with serving(endless) as server:
        anyio.run(run, server.url)
        assert server.gone.wait(60)


def test_i3_a_silent_stream_is_connected_anew() -> None:
    def answer(handler: Handler) -> None:
        handler.stream()
        if handler.headers.get("last-event-id") == "1":
            handler.event(2, "state", to="FAILED")
        else:
            handler.event(1)
            handler.until_gone()

    with serving(answer) as server, client(server.url, stream_idle_timeout=0.2) as made:
        assert [event.sequence for event in made.runs.stream("r1")] == [1, 2]


def test_i3_state_changes_of_all_runs() -> None:
    seen: list[str] = []

    def answer(handler: Handler) -> None:
        cursor = handler.headers.get("last-event-id") or "0"
        seen.append(f"{handler.path.split('?')[1]} after {cursor}")
        handler.stream()
        for number in range(int(cursor), int(cursor) + 3):  # the first repeats the last
            if number:
                told = b'{"id":"e","sequence":1,"type":"state","time":"2026-01-01T00:00:00Z","run_id":"r%d","data":{}}'
                handler.wfile.write(b"id: %d\ndata: " % number + told % number + b"\n\n")

    with serving(answer) as server, client(server.url) as made:
        runs: list[Any] = []
        with made.runs.stream_states(state=["FAILED"], name="nightly") as events:
            for event in events:
                runs.append(getattr(event, "run_id"))
                if len(runs) == 7:
                    break
    assert runs == [f"r{n}" for n in range(1, 8)]
    assert seen[:2] == ["state=FAILED&name=nightly after 0", "state=FAILED&name=nightly after 2"]


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"sequence": "x"}', b"{}", b'{"sequence":1,"data":[]}'])
def test_i3_a_broken_event_is_told(data: bytes) -> None:
    def answer(handler: Handler) -> None:
        handler.stream()
        handler.wfile.write(b"data: " + data + b"\n\n")

    with serving(answer) as server, client(server.url) as made:
        with pytest.raises(lineshaft.StreamError, match="not readable"):
            list(made.runs.stream("r1"))


def frames(*chunks: bytes, limit: int = 1000) -> list[Frame]:
    reader = FrameReader(limit)
    return [frame for chunk in chunks for frame in reader.feed(chunk)]


def test_i3_frames_in_every_cut() -> None:
    text = "\ufeff: hello\r\nid: 7\r\ndata: a\r\ndata:ü\r\n\r\nretry: 20\n\ndata\n\nid: 8\ndata: x\n\n".encode()
    want = [Frame("7", "a\nü".encode()), Frame("", b""), Frame("8", b"x")]
    assert frames(text) == want
    for at in range(len(text)):
        assert frames(text[:at], text[at:]) == want
    assert frames(*(bytes([byte]) for byte in text)) == want


@pytest.mark.parametrize("chunk", [b"x" * 1001, b"data: " + b"y" * 1001 + b"\n", b"data: yyyyyyyyy\n" * 200])
def test_i3_a_frame_without_end_is_refused(chunk: bytes) -> None:
    with pytest.raises(FrameTooLarge):
        frames(chunk)


def test_i3_a_cut_frame_is_noticed() -> None:
    reader = FrameReader()
    assert not reader.cut
    list(reader.feed(b": beat\n"))
    assert not reader.cut
    list(reader.feed(b"data: x\n"))
    assert reader.cut
    list(reader.feed(b"\n"))
    assert not reader.cut
    list(reader.feed(b"d"))
    assert reader.cut
    reader = FrameReader()
    list(reader.feed(b": be"))
    list(reader.feed(b"at\ndata: x\n"))
    assert not reader.heartbeat
    list(reader.feed(b"\n"))
    assert reader.heartbeat
    list(FrameReader().feed(b"retry: 99999999999999\nretry: -1\nretry: x\n"))
