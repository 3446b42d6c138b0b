"""I-3: time-outs, cancellation, redirects, downloads, pages and waits over real connections."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, Callable

import anyio
import httpx
import pytest
from scripted import KEY, Handler, Server, async_client, client, mocked, serving

import lineshaft
from lineshaft._retry import Backoff


def hang(handler: Handler) -> None:
    handler.until_gone()


def trickle(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.02)
    except OSError:
        handler.server.gone.set()


def trickle_headers(handler: Handler) -> None:
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            handler.wfile.write(b"x")
            time.sleep(0.02)
    except OSError:
        handler.server.gone.set()


def sent(server: Server, count: int, attempt: Callable[[float], None]) -> None:
    """Makes an attempt with a short time-out, and with longer ones until the machine is
    fast enough to send so many requests within it."""
    for timeout in (0.2, 1.0, 5.0, 25.0):
        server.requests.clear()
        attempt(timeout)
        if len(server.requests) >= count:
            return
    raise AssertionError(f"{len(server.requests)} requests came within 25 s, want {count}")


@pytest.mark.parametrize("answer", [hang, trickle, trickle_headers])
def test_i3_a_time_out_frees_the_connection(answer: Any) -> None:
    with serving(answer) as server, client(server.url, max_retries=0) as made:

        def attempt(timeout: float) -> None:
            with pytest.raises(lineshaft.APITimeoutError):
                made.runs.get("r1", timeout=timeout)

        sent(server, 1, attempt)
        assert server.gone.wait(60)


@pytest.mark.parametrize("answer", [hang, trickle, trickle_headers])
def test_i3_a_time_out_frees_the_connection_async(answer: Any) -> None:
    async def run(url: str, timeout: float) -> None:
        async with async_client(url, max_retries=0, timeout=timeout) as made:
            with pytest.raises(lineshaft.APITimeoutError):
                await made.runs.get("r1")

    with serving(answer) as server:
        sent(server, 1, lambda timeout: anyio.run(run, server.url, timeout))
        assert server.gone.wait(60)


def test_i3_a_time_out_bounds_a_connection_that_is_used_again() -> None:
    def answer(handler: Handler) -> None:
        if len(handler.server.requests) == 1:
            handler.reply(200, {"run_id": "r1"})
        else:
            trickle_headers(handler)

    with serving(answer) as server, client(server.url, max_retries=0) as made:
        made.runs.get("r1")
        with pytest.raises(lineshaft.APITimeoutError):
            made.runs.get("r1", timeout=1)
        assert server.gone.wait(60)
        assert len({request.client_address for request in server.requests}) == 1


def test_i3_a_stream_whose_headers_trickle_is_connected_anew() -> None:
    def attempt(timeout: float) -> None:
        with client(server.url, stream_idle_timeout=timeout, stream_retries=1) as made:
            with pytest.raises(lineshaft.StreamError, match="in time"):
                list(made.runs.stream("r1"))

    with serving(trickle_headers) as server:
        sent(server, 2, attempt)


def test_i3_a_stream_whose_headers_trickle_is_connected_anew_async() -> None:
    async def run(url: str, timeout: float) -> None:
        async with async_client(url, stream_idle_timeout=timeout, stream_retries=1) as made:
            with pytest.raises(lineshaft.StreamError, match=rf"within {timeout:g} s"):
                async for _ in made.runs.stream("r1"):
                    pass

    with serving(trickle_headers) as server:
        sent(server, 2, lambda timeout: anyio.run(run, server.url, timeout))


def test_i3_an_answer_after_a_time_out_is_as_good_as_ever() -> None:
    def answer(handler: Handler) -> None:
        if len(handler.server.requests) == 1:
            hang(handler)
        else:
            handler.reply(200, {"run_id": "r1"})

    with serving(answer) as server, client(server.url, max_retries=1) as made:
        assert made.runs.get("r1", timeout=5).run_id == "r1"
        assert made.runs.get("r1", timeout=None).run_id == "r1"


def closed_port() -> str:
    with serving(hang) as server:
        return server.url


def test_i3_a_server_that_is_not_there_is_named() -> None:
    url = closed_port()
    with client(url, max_retries=0) as made:
        with pytest.raises(lineshaft.APIConnectionError, match=f"no connection to {url}: .*check the server address"):
            made.runs.get("r1")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ReadTimeout("x"), "no answer from http://lineshaft.test in time"),
        (httpx.ConnectTimeout("x"), "no connection to http://lineshaft.test in time"),
        (httpx.ReadError("gone"), "the connection to http://lineshaft.test broke: gone"),
    ],
)
def test_i3_errors_name_the_server(error: Exception, words: str) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(lineshaft.APIConnectionError, match=words):
        mocked(answer, max_retries=0).runs.get("r1")


def test_i3_a_closed_client_is_told() -> None:
    made = client("http://127.0.0.1:1")
    made.close()
    with pytest.raises(lineshaft.APIConnectionError, match="the client is closed: make another one"):
        made.runs.get("r1")

    async def run() -> None:
        other = async_client("http://127.0.0.1:1")
        await other.aclose()
        with pytest.raises(lineshaft.APIConnectionError, match="the client is closed: make another one"):
            await other.runs.get("r1")

    anyio.run(run)


def test_i3_a_client_in_a_second_event_loop_is_told() -> None:
    first = asyncio.new_event_loop()
    with serving(lambda handler: handler.reply(200, {"run_id": "r1"})) as server:
        made = async_client(server.url)

        async def use() -> None:
            await made.runs.get("r1")

        first.run_until_complete(use())
        with pytest.raises(lineshaft.APIConnectionError, match="another event loop") as failed:
            asyncio.run(use())
        assert failed.value.permanent
        first.run_until_complete(made.aclose())
        first.run_until_complete(asyncio.sleep(0))
    first.close()


def test_i3_a_client_whose_event_loop_is_gone_is_told() -> None:
    def gone(_: httpx.Request) -> httpx.Response:
        raise RuntimeError("Event loop is closed")  # what asyncio says of a connection of asyncio.run before

    async def run() -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(gone))
        made = lineshaft.AsyncLineshaft(base_url="http://h", api_key=KEY, http_client=http)
        with pytest.raises(lineshaft.APIConnectionError, match=r"another event loop.*asyncio\.run"):
            await made.runs.get("r1")

    anyio.run(run)


def test_i3_other_errors_of_a_given_http_client_stay_what_they_are() -> None:
    def broken(_: httpx.Request) -> httpx.Response:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        mocked(broken).runs.get("r1")


@pytest.mark.parametrize("answer", [hang, trickle])
def test_i3_cancelling_frees_the_connection(answer: Any) -> None:
    async def run(server: Server) -> None:
        async with async_client(server.url) as made, anyio.create_task_group() as group:
            group.start_soon(made.runs.get, "r1")
            while not server.requests:
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    with serving(answer) as server:
        anyio.run(run, server)
        assert server.gone.wait(60)


def test_i3_connections_are_used_again() -> None:
    ports: set[int] = set()

    def answer(handler: Handler) -> None:
        ports.add(handler.client_address[1])
        handler.reply(200, {"run_id": "r1"})

    with serving(answer) as server, client(server.url) as made:
        for _ in range(20):
            made.runs.get("r1")
    assert len(ports) == 1


def test_i3_a_redirect_to_another_host_has_no_key() -> None:
    with serving(lambda handler: handler.reply(200, {"run_id": "far"})) as far:

        def answer(handler: Handler) -> None:
            handler.reply(302, {}, {"Location": f"{far.url}/somewhere"})

        with serving(answer) as near, client(near.url) as made:
            assert made.runs.get("r1").run_id == "far"
        assert near.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert "authorization" not in far.requests[0].headers
        assert KEY not in str(far.requests[0].headers)


@pytest.mark.parametrize(
    "target, keeps",
    [
        ("http://lineshaft.test/moved", True),
        ("http://lineshaft.test:80/moved", True),
        ("https://lineshaft.test/moved", False),
        ("http://lineshaft.test:81/moved", False),
        ("http://a.lineshaft.test/moved", False),
    ],
)
def test_i3_a_redirect_keeps_the_key_within_scheme_host_and_port(target: str, keeps: bool) -> None:
    keys: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers.get("authorization"))
        if len(keys) == 1:
            return httpx.Response(307, headers={"location": target})
        return httpx.Response(200, json={"run_id": "r1"})

    assert mocked(answer).runs.get("r1").run_id == "r1"
    assert keys == [f"Bearer {KEY}", f"Bearer {KEY}" if keeps else None]


def test_s2_who_was_left_gets_nothing_by_sending_the_client_back() -> None:
    seen: list[list[str | None]] = []
    places = ["http://files.test/moved", "http://lineshaft.test/back"]

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append([request.headers.get(name) for name in ("authorization", "x-own", "accept")])
        if len(seen) <= len(places):
            return httpx.Response(307, headers={"location": places[len(seen) - 1]})
        return httpx.Response(200, json={"run_id": "r1"})

    made = mocked(answer).with_options(headers={"X-Own": "s3cret"})
    assert made.runs.get("r1").run_id == "r1"
    assert seen == [[f"Bearer {KEY}", "s3cret", "application/json"]] + 2 * [[None, None, "application/json"]]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_i3_a_post_is_not_redirected(status: int) -> None:
    with (
        serving(lambda handler: handler.reply(status, {}, {"Location": "/api/v1/elsewhere"})) as server,
        client(server.url) as made,
    ):
        with pytest.raises(lineshaft.APIConnectionError, match="use that as the server address"):
            made.runs.create(prompt="x")
        assert len(server.requests) == 1


BLOB = bytes(range(256)) * 4096


def blob(handler: Handler) -> None:
    """A file behind a redirect, whose first answer breaks off."""
    if "/artifacts/" in handler.path:
        handler.reply(302, {}, {"Location": "/api/v1/agent/downloads/token"})
    elif sum(r.path.endswith("/token") for r in handler.server.requests) == 1:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(BLOB)))
        handler.end_headers()
        handler.wfile.write(BLOB[:100_000])
        handler.close_connection = True
    else:
        handler.reply(200, BLOB)


def test_i3_a_download_goes_to_a_file(tmp_path: Path) -> None:
    with serving(blob) as server, client(server.url) as made:
        saved = made.artifacts.download("a1").save(tmp_path / "blob")
        assert saved.read_bytes() == BLOB == made.artifacts.download("a1").read()
    assert [path.name for path in tmp_path.iterdir()] == ["blob"]


def test_i3_a_download_goes_to_a_file_async(tmp_path: Path) -> None:
    async def run(url: str) -> bytes:
        async with async_client(url) as made:
            await made.artifacts.download("a1").save(tmp_path / "blob")
            return await made.artifacts.download("a1").read()

    with serving(blob) as server:
        assert anyio.run(run, server.url) == BLOB == (tmp_path / "blob").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["blob"]


def test_i3_a_download_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "blob").write_text("old")
    made = mocked(lambda _: httpx.Response(404))
    with pytest.raises(lineshaft.NotFoundError):
        made.artifacts.download("a1").save(tmp_path / "blob")
    assert [path.name for path in tmp_path.iterdir()] == ["blob"] and (tmp_path / "blob").read_text() == "old"


def pages(request: httpx.Request) -> httpx.Response:
    """Ten thousand runs; every third page is empty."""
    at = int(request.url.params.get("cursor", "0"))
    ids = [] if at % 3 == 2 else [{"run_id": f"r{at}-{n}"} for n in range(500)]
    info = {"has_next_page": at < 29, **({"next_cursor": str(at + 1)} if at < 29 else {})}
    assert request.url.params["limit"] == "500"
    return httpx.Response(200, json={"runs": ids, "page_info": info})


def test_i3_a_loop_over_a_page_walks_all_pages() -> None:
    page = mocked(pages).runs.list(limit=500)
    assert len(page) == 500 and page.has_next_page and "has_next_page=True" in repr(page)
    assert len({run.run_id for run in page}) == 10_000
    assert len(list(page.pages())) == 30
    assert len(page.next_page().next_page()) == 0
    last = list(page.pages())[-1]
    with pytest.raises(ValueError, match="last page"):
        last.next_page()


def test_i3_a_loop_over_a_list_walks_all_pages_async() -> None:
    async def run() -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(pages))
        made = lineshaft.AsyncLineshaft(base_url="http://h", api_key=KEY, http_client=http)
        assert len({run.run_id async for run in made.runs.list(limit=500)}) == 10_000
        page = await made.runs.list(limit=500)
        assert len(page) == 500 and len(await page.next_page()) == 500
        assert len([each async for each in page.pages()]) == 30
        raw = await made.with_raw_response(made.runs.list, limit=500)
        assert raw.status_code == 200 and len(raw.value) == 500

    anyio.run(run)


def test_i3_wait_tells_each_change_and_bridges_an_outage() -> None:
    answers: list[Any] = ["QUEUED", "QUEUED", 503, 503, 503, 503, "INPROGRESS", httpx.ConnectError("x"), "FAILED"]

    def answer(_: httpx.Request) -> httpx.Response:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return httpx.Response(found) if isinstance(found, int) else httpx.Response(200, json={"state": found})

    changes: list[str] = []
    run = mocked(answer).runs.wait("r1", on_change=lambda run: changes.append(run.state))
    assert run.state == "FAILED" and changes == ["QUEUED", "INPROGRESS", "FAILED"]


@pytest.mark.parametrize(("asked", "pause"), [("4", 4.0), ("60", 60.0), ("90", 60.0), ("0", 0.5)])
def test_i3_wait_pauses_as_long_as_it_is_asked_to(asked: str, pause: float) -> None:
    answers = [httpx.Response(503, headers={"Retry-After": asked}), httpx.Response(200, json={"state": "FAILED"})]
    made: Any = mocked(lambda _: answers.pop(0))
    made._transport.settings = made._transport.settings.changed(backoff=Backoff(jitter=lambda: 0.0))
    assert made.runs.wait("r1").state == "FAILED"
    assert made.pauses == [pause]


def busy(handler: Handler) -> None:
    handler.reply(503, {}, {"Retry-After": "30"})


def test_i3_wait_gives_up_in_time_whatever_pause_it_is_asked_for() -> None:
    with serving(busy) as server, client(server.url) as made:
        begun = time.monotonic()
        with pytest.raises(lineshaft.WaitTimeoutError, match="last seen never"):
            made.runs.wait("r1", timeout=0.3)
        assert time.monotonic() - begun < 25


def test_i3_wait_gives_up_in_time_whatever_pause_it_is_asked_for_async() -> None:
    async def run(url: str) -> None:
        async with async_client(url) as made:
            with anyio.fail_after(25), pytest.raises(lineshaft.WaitTimeoutError):
                await made.runs.wait("r1", timeout=0.3)

    with serving(busy) as server:
        anyio.run(run, server.url)


def test_i3_wait_gives_up_in_time() -> None:
    made = mocked(lambda _: httpx.Response(200, json={"state": "BLOCKED"}))
    made._transport.sleep = time.sleep
    with pytest.raises(lineshaft.WaitTimeoutError, match="last seen BLOCKED") as late:
        made.runs.wait("r1", timeout=0.1, interval=0.01)
    assert isinstance(late.value, TimeoutError) and late.value.state == "BLOCKED"


def test_i3_wait_does_not_wait_for_what_is_not_there() -> None:
    with pytest.raises(lineshaft.NotFoundError):
        mocked(lambda _: httpx.Response(404)).runs.wait("r1")


def test_i3_wait_slows_down() -> None:
    states = ["QUEUED"] * 12 + ["SUCCEEDED"]
    made: Any = mocked(lambda _: httpx.Response(200, json={"state": states.pop(0)}))
    made.runs.wait("r1")
    assert made.pauses == [0.2, 0.2, 0.4, 0.4, 0.8, 0.8, 1.6, 1.6, 3.0, 3.0, 3.0, 3.0]


def test_i3_an_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    made = mocked(lambda _: httpx.Response(200, content=b"x" * 1000))
    made._transport.settings = made._transport.settings.changed(max_answer_bytes=100)
    with pytest.raises(lineshaft.APIResponseError, match="larger than 100 bytes"):
        made.runs.list()
