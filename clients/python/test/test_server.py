"""I-3 against a real server, and against it through connections that are damaged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

import anyio
import pytest

import lineshaft
from lineshaft._retry import Backoff

pytestmark = pytest.mark.server

CUTS = 100
README = Path(__file__).resolve().parents[1] / "README.md"
PARKED = "never-connected"  # a worker of this name does not come
LONG_LOG = "\n".join("```sh\nprintf %1800d 7\n```" for _ in range(120))


def cutter(path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(os.environ["LINESHAFT_CUTTER_URL"] + path, data=data), timeout=60) as answer:
        return json.load(answer)


def damaged(**damage: Any) -> tuple[str, str]:
    """An id and the address of the server with some damage."""
    started = cutter("/_/start", damage)
    return started["id"], started["base_url"]


def let_go(id: str) -> dict[str, Any]:
    """What the cutter saw, once nothing is on its way any more."""
    deadline = time.monotonic() + 60
    while True:
        state = cutter(f"/_/state?id={id}")
        if state["open"] == 0:
            return state
        assert time.monotonic() < deadline, "a connection is still open"
        time.sleep(0.02)


def taken(id: str) -> None:
    """Waits until something is on its way."""
    deadline = time.monotonic() + 60
    while cutter(f"/_/state?id={id}")["open"] == 0:
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.02)


def hurried(client: Any) -> Any:
    settings = client._transport.settings
    client._transport.settings = settings.changed(backoff=Backoff(first=0.001, longest=0.005))
    return client


@pytest.fixture(scope="module")
def long_run() -> str:
    """A run that has ended, with a log of half a megabyte."""
    with lineshaft.Lineshaft() as client:
        run_id = client.runs.create(prompt=LONG_LOG).run_id
        assert client.runs.wait(run_id, timeout=120).state == "SUCCEEDED"
        return run_id


def test_i3_a_create_whose_answers_are_lost_makes_one_run(server: lineshaft.Lineshaft) -> None:
    id, url = damaged(lose_posts=2)
    name = f"once-{uuid4().hex}"
    with hurried(lineshaft.Lineshaft(base_url=url)) as client:
        started = client.runs.create(prompt="x", config={"name": name, "worker_host": PARKED})
    assert let_go(id)["posts_lost"] == 2
    assert [run.run_id for run in server.runs.list(name=name)] == [started.run_id]
    server.runs.cancel(started.run_id)


def test_i3_a_create_whose_answers_are_lost_makes_one_run_async(server: lineshaft.Lineshaft) -> None:
    id, url = damaged(lose_posts=2)
    name = f"once-{uuid4().hex}"

    async def run() -> str:
        async with hurried(lineshaft.AsyncLineshaft(base_url=url)) as client:
            return (await client.runs.create(prompt="x", config={"name": name, "worker_host": PARKED})).run_id

    run_id = anyio.run(run)
    assert let_go(id)["posts_lost"] == 2
    assert [found.run_id for found in server.runs.list(name=name)] == [run_id]
    server.runs.cancel(run_id)


def test_i3_a_stream_cut_a_hundred_times_gives_each_event_once(server: lineshaft.Lineshaft, long_run: str) -> None:
    id, url = damaged(cuts=CUTS, max_bytes=7000, seed=7)
    with hurried(lineshaft.Lineshaft(base_url=url)) as client:
        streamed = list(client.runs.stream(long_run))
    assert let_go(id)["cut"] == CUTS
    assert streamed == list(server.runs.events(long_run, limit=50))
    assert [event.sequence for event in streamed] == list(range(1, len(streamed) + 1))


def test_i3_a_stream_cut_a_hundred_times_gives_each_event_once_async(
    server: lineshaft.Lineshaft, long_run: str
) -> None:
    id, url = damaged(cuts=CUTS, max_bytes=7000, seed=8)

    async def run() -> list[Any]:
        async with hurried(lineshaft.AsyncLineshaft(base_url=url)) as client:
            return [event async for event in client.runs.stream(long_run)]

    streamed = anyio.run(run)
    assert let_go(id)["cut"] == CUTS
    assert streamed == list(server.runs.events(long_run))


def test_i3_a_stream_goes_on_after_a_sequence(server: lineshaft.Lineshaft, long_run: str) -> None:
    whole = [event.sequence for event in server.runs.stream(long_run)]
    assert [event.sequence for event in server.runs.stream(long_run, after=100)] == whole[100:]


def test_i3_paging_walks_all_runs() -> None:
    name, count = os.environ["LINESHAFT_PAGES_NAME"], int(os.environ["LINESHAFT_PAGES_COUNT"])
    with lineshaft.Lineshaft(base_url=os.environ["LINESHAFT_PAGES_URL"]) as client:
        ids = [run.run_id for run in client.runs.list(name=name, limit=500)]
    assert len(ids) == len(set(ids)) == count > 1_000


def test_i3_paging_walks_all_runs_async() -> None:
    name, count = os.environ["LINESHAFT_PAGES_NAME"], int(os.environ["LINESHAFT_PAGES_COUNT"])

    async def run() -> list[str]:
        async with lineshaft.AsyncLineshaft(base_url=os.environ["LINESHAFT_PAGES_URL"]) as client:
            return [run.run_id async for run in client.runs.list(name=name, limit=500)]

    ids = anyio.run(run)
    assert len(ids) == len(set(ids)) == count


def test_i3_a_time_out_leaves_nothing_open() -> None:
    id, url = damaged(hang=True)
    with lineshaft.Lineshaft(base_url=url, max_retries=0) as client:
        with pytest.raises(lineshaft.APITimeoutError):
            client.server.whoami(timeout=5)  # time for it to be sent, however slow the machine
        assert let_go(id)["requests"] == 1


def test_i3_a_cancelled_call_leaves_nothing_open() -> None:
    id, url = damaged(hang=True)

    async def run() -> None:
        async with lineshaft.AsyncLineshaft(base_url=url) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.server.whoami)
                await anyio.to_thread.run_sync(taken, id)
                group.cancel_scope.cancel()
            await anyio.to_thread.run_sync(let_go, id)

    anyio.run(run)


def test_i3_a_left_stream_leaves_nothing_open(server: lineshaft.Lineshaft) -> None:
    id, url = damaged()
    run_id = server.runs.create(prompt="x", config={"worker_host": PARKED}).run_id
    with lineshaft.Lineshaft(base_url=url) as client:
        for event in client.runs.stream(run_id):
            assert event.sequence == 1
            break
        let_go(id)
    server.runs.cancel(run_id)


def test_i3_the_readme_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "hello from a run\nSay hello is SUCCEEDED the agent has finished\n"


def test_i3_the_program_of_the_documentation_runs_as_printed() -> None:
    text = (README.parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    # By itself: it leaves its client to the end of the program.
    out = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "output hello from a run\n" in out
    assert re.search(r"^SUCCEEDED", out, re.MULTILINE)


@pytest.mark.parametrize("path", sorted((README.parent / "examples").glob("*.py")), ids=lambda path: path.name)
def test_i3_examples_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_i3_threads_share_a_client(server: lineshaft.Lineshaft) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = list(pool.map(lambda _: server.server.whoami().key_id, range(200)))
    assert len(set(keys)) == 1


def test_i3_states_of_all_runs_live(server: lineshaft.Lineshaft) -> None:
    name = f"watched-{uuid4().hex}"
    first = server.runs.create(prompt="x", config={"name": name, "worker_host": PARKED}).run_id
    with server.runs.stream_states(name=name) as events, ThreadPoolExecutor(1) as pool:
        found = pool.submit(next, events)
        while not found.done():  # the stream tells what happens once it is open
            server.runs.cancel(server.runs.create(prompt="x", config={"name": name, "worker_host": PARKED}).run_id)
            time.sleep(0.05)
        assert found.result().type == "state"
    server.runs.cancel(first)


def test_i3_a_factory_with_a_webhook_and_what_is_sent_to_it(server: lineshaft.Lineshaft) -> None:
    import httpx

    factory = server.factories.create(name=f"Shop {uuid4().hex[:8]}")
    try:
        secret = "a-secret-of-some-length"
        hook = server.webhooks.create(
            factory.uid, name="ci", auth_mode="signature", signature_scheme="github", secret=secret
        )
        body = b'{"ok": true}'
        headers = lineshaft.webhooks.sign("github", secret, body, id="delivery-1")
        for _ in range(2):
            sent = httpx.post(hook.ingress_url, content=body, headers={**headers, "Content-Type": "application/json"})
            assert sent.status_code in (200, 202), sent.text
        refused = httpx.post(hook.ingress_url, content=body + b" ", headers=headers)
        assert refused.status_code == 401
        deliveries = list(server.deliveries.list(factory.uid, hook.uid))
        assert sorted(delivery.status for delivery in deliveries) == ["accepted", "duplicate", "rejected_auth"]
    finally:
        server.factories.delete(factory.uid)
    with pytest.raises(lineshaft.NotFoundError):
        server.factories.get(factory.uid)


def test_i3_errors_of_a_real_server(server: lineshaft.Lineshaft) -> None:
    with pytest.raises(lineshaft.NotFoundError) as missing:
        server.runs.get("nope")
    assert missing.value.code == "resource_not_found" and missing.value.request_id
    with pytest.raises(lineshaft.BadRequestError):
        server.runs.create()
    with lineshaft.Lineshaft(api_key="ls_wrong") as stranger, pytest.raises(lineshaft.AuthenticationError):
        stranger.server.whoami()
