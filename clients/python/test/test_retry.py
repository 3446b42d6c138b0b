"""I-3: what is sent again, after which pause, and what never is."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any, Callable

import httpx
import pytest
from scripted import mocked

import lineshaft
from lineshaft._retry import Backoff, next_pause, retry_after

OK = httpx.Response(200, json={"run_id": "r1", "state": "QUEUED"})
Answers = "list[httpx.Response | Exception]"


def answering(*answers: Any) -> tuple[Callable[[httpx.Request], httpx.Response], list[httpx.Request]]:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        found = answers[min(len(requests), len(answers)) - 1]
        if isinstance(found, Exception):
            raise found
        return httpx.Response(found) if isinstance(found, int) else found

    return answer, requests


@pytest.mark.parametrize(
    "failure",
    [408, 409, 429, 500, 502, 503, 504, httpx.ConnectError("x"), httpx.ReadTimeout("x"), httpx.ReadError("x")],
)
def test_i3_a_create_is_sent_again_with_the_same_key(failure: Any) -> None:
    answer, requests = answering(failure, failure, OK)
    client = mocked(answer)
    assert client.runs.create(prompt="x").run_id == "r1"
    assert len(requests) == 3
    assert len({r.headers["idempotency-key"] for r in requests}) == 1
    assert len({r.content for r in requests}) == 1


@pytest.mark.parametrize("failure", [400, 401, 403, 404, 413, 422, 499])
def test_i3_what_cannot_help_is_not_tried(failure: int) -> None:
    answer, requests = answering(failure, OK)
    with pytest.raises(lineshaft.APIStatusError):
        mocked(answer).runs.get("r1")
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("failure", "sent"),
    [
        (409, 1),
        (500, 1),
        (502, 1),
        (httpx.ReadTimeout("x"), 1),
        (httpx.ReadError("x"), 1),
        (httpx.RemoteProtocolError("x"), 1),
        (429, 2),
        (503, 2),
        (httpx.ConnectError("x"), 2),
        (httpx.ConnectTimeout("x"), 2),
        (httpx.PoolTimeout("x"), 2),
    ],
)
@pytest.mark.parametrize("call", ["rerun", "post", "patch", "update"])
def test_i3_what_may_have_been_done_is_not_done_twice(call: str, failure: Any, sent: int) -> None:
    answer, requests = answering(failure, OK)
    client = mocked(answer)
    calls: dict[str, Callable[[], Any]] = {
        "rerun": lambda: client.runs.rerun("r1"),
        "post": lambda: client.post("/x", body={}),
        "patch": lambda: client.patch("/x", body={}),
        "update": lambda: client.factories.update("f", name="x"),
    }
    if sent == 1:
        with pytest.raises(lineshaft.APIError):
            calls[call]()
    else:
        calls[call]()
    assert len(requests) == sent


def test_i3_the_server_has_the_last_word() -> None:
    answer, requests = answering(httpx.Response(500, headers={"x-should-retry": "false"}), OK)
    with pytest.raises(lineshaft.InternalServerError):
        mocked(answer).runs.get("r1")
    assert len(requests) == 1
    answer, requests = answering(httpx.Response(400, headers={"x-should-retry": "true"}), OK)
    mocked(answer).runs.rerun("r1")
    assert len(requests) == 2


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_i3_attempts_are_counted(limit: int) -> None:
    answer, requests = answering(503)
    with pytest.raises(lineshaft.InternalServerError) as failed:
        mocked(answer, max_retries=limit).runs.get("r1")
    assert len(requests) == limit + 1 == failed.value.attempts
    with pytest.raises(lineshaft.InternalServerError):
        mocked(answer).runs.get("r1", max_retries=limit)
    assert len(requests) == 2 * (limit + 1)


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "60"}, 60),
        ({"retry-after-ms": "-1", "retry-after": "3"}, 3),
        ({"retry-after-ms": "nan", "retry-after": "3"}, 3),
    ],
)
def test_i3_the_pause_that_is_asked_for(headers: dict[str, str], pause: float) -> None:
    answer, _ = answering(httpx.Response(429, headers=headers), OK)
    client: Any = mocked(answer)
    client.runs.get("r1")
    assert client.pauses == [pause]


@pytest.mark.parametrize("headers", [{"retry-after": "61"}, {"retry-after-ms": "60001"}, {"retry-after": "1e300"}])
def test_i3_a_long_pause_is_the_callers(headers: dict[str, str]) -> None:
    answer, requests = answering(httpx.Response(429, headers=headers), OK)
    client: Any = mocked(answer)
    with pytest.raises(lineshaft.RateLimitError) as limited:
        client.runs.get("r1")
    assert len(requests) == 1 and client.pauses == []
    assert limited.value.retry_after is not None and limited.value.retry_after > 60


@pytest.mark.parametrize("value", ["", "soon", "-1", "inf", "Mon, 99 Foo 2026", "\x00", "1" * 400])
def test_i3_nonsense_is_no_pause(value: str) -> None:
    answer, _ = answering(OK)
    assert retry_after({"retry-after": value}) in (None, 0.0)
    assert mocked(answer).runs.get("r1").run_id == "r1"


def test_i3_a_pause_may_be_a_date() -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert retry_after({"retry-after": format_datetime(now + timedelta(seconds=9), usegmt=True)}, now) == 9
    assert retry_after({"retry-after": format_datetime(now - timedelta(seconds=9), usegmt=True)}, now) == 0


def test_i3_pauses_double_and_are_shortened_by_up_to_a_quarter() -> None:
    even = Backoff(jitter=lambda: 0.0)
    assert [even.pause(n) for n in range(6)] == [0.5, 1, 2, 4, 8, 8]
    assert Backoff(jitter=lambda: 1.0).pause(0) == 0.375
    assert even.pause(10**9) == 8


def test_i3_other_errors_are_not_retried() -> None:
    assert next_pause(ValueError("x"), replay=True, attempt=1, retries=9, backoff=Backoff()) is None


def test_i3_a_wrong_certificate_is_final() -> None:
    import ssl

    error = httpx.ConnectError("certificate")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    answer, requests = answering(error)
    with pytest.raises(lineshaft.APIConnectionError) as failed:
        mocked(answer).runs.get("r1")
    assert failed.value.permanent and len(requests) == 1


def test_i3_a_delete_that_was_done_is_done() -> None:
    answer, requests = answering(httpx.ReadError("x"), 404)
    mocked(answer).runs.delete("r1")
    assert len(requests) == 2
    with pytest.raises(lineshaft.NotFoundError):
        mocked(lambda _: httpx.Response(404)).runs.delete("r1")
