"""Error classes and retries: real ones where a route gives them, injected ones
where a healthy server has none."""

from __future__ import annotations

from typing import Any, Callable

import oz_agent_sdk as sdk
import pytest
from support import LIMITED_SERVER, UNKNOWN, Proxy, client, key_for, parked, unique

SCHEDULE: dict[str, Any] = {"name": "n", "cron_schedule": "0 9 * * *", "prompt": "p", "enabled": True}


def fails(call: Callable[[], Any], kind: type[sdk.APIStatusError], status: int, code: str = "") -> sdk.APIStatusError:
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert error.status_code == status
    if code:
        body: Any = error.body
        assert body["code"] == code
        assert body["status"] == status
        assert body["type"].endswith(f"/docs/errors/{code}")
        assert body["error"].startswith(body["title"])
    return error


def test_400_is_bad_request_and_names_the_field() -> None:
    error = fails(lambda: client().agent.runs.list(limit=501), sdk.BadRequestError, 400, "invalid_request")
    assert "limit" in error.body["detail"]  # type: ignore[index]
    fails(lambda: client().agent.run(), sdk.BadRequestError, 400, "invalid_request")


def test_400_is_what_a_second_cancel_gets() -> None:
    run_id = client().agent.run(prompt="x", config=parked(unique("twice"))).run_id
    client().agent.runs.cancel(run_id)
    fails(lambda: client().agent.runs.cancel(run_id), sdk.BadRequestError, 400, "invalid_request")


@pytest.mark.parametrize("key", ["wrong", "ls_" + "x" * 40])
def test_401_is_authentication_error(key: str) -> None:
    fails(lambda: client(api_key=key).agent.runs.list(), sdk.AuthenticationError, 401, "authentication_required")


def test_403_is_permission_denied_for_a_viewer() -> None:
    viewer = client(api_key=key_for("viewer"))
    run_id = client().agent.run(prompt="x", config=parked(unique("viewer"))).run_id
    assert viewer.agent.runs.retrieve(run_id).run_id == run_id
    fails(lambda: viewer.agent.run(prompt="x"), sdk.PermissionDeniedError, 403, "not_authorized")
    fails(lambda: viewer.agent.runs.cancel(run_id), sdk.PermissionDeniedError, 403, "not_authorized")
    client().agent.runs.cancel(run_id)


def test_404_is_not_found() -> None:
    fails(lambda: client().agent.runs.retrieve(UNKNOWN), sdk.NotFoundError, 404, "resource_not_found")
    fails(lambda: client().agent.runs.cancel(UNKNOWN), sdk.NotFoundError, 404, "resource_not_found")
    fails(lambda: client().agent.get_artifact(UNKNOWN), sdk.NotFoundError, 404, "resource_not_found")


def test_409_is_conflict_and_one_that_stays_is_not_retried(proxy: Proxy) -> None:
    run_id = client().agent.run(prompt="x", config=parked(unique("live"))).run_id
    through = proxy.client()
    error = fails(lambda: through.delete(f"/agent/runs/{run_id}", cast_to=object), sdk.ConflictError, 409, "conflict")
    assert error.response.headers["x-should-retry"] == "false"
    assert len(proxy.seen) == 1
    client().agent.runs.cancel(run_id)


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.agent.schedules.create(**SCHEDULE, extra_body={"mode": "plan"}),
        lambda it: it.agent.run(prompt="x", extra_body={"mode": "plan"}),
        lambda it: it.agent.run(prompt="x", config={**parked("x"), "harness": {"type": "claude", "auth_secret_name": "KEY"}}),
    ],
    ids=["schedule-mode", "mode", "harness-secret"],
)
def test_422_is_unprocessable_for_what_is_not_offered(call: Callable[[sdk.OzAPI], Any]) -> None:
    fails(lambda: call(client()), sdk.UnprocessableEntityError, 422, "operation_not_supported")


def test_h11_429_is_rate_limit_error_with_a_retry_after() -> None:
    limited = client(LIMITED_SERVER, api_key=key_for("viewer", LIMITED_SERVER), max_retries=0)

    def until_refused() -> None:
        for _ in range(100):
            limited.agent.runs.list(limit=1)

    error = fails(until_refused, sdk.RateLimitError, 429, "resource_unavailable")
    assert 1 <= int(error.response.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, sdk.BadRequestError),
        (401, sdk.AuthenticationError),
        (403, sdk.PermissionDeniedError),
        (404, sdk.NotFoundError),
        (409, sdk.ConflictError),
        (422, sdk.UnprocessableEntityError),
        (429, sdk.RateLimitError),
        (500, sdk.InternalServerError),
        (503, sdk.InternalServerError),
    ],
)
def test_injected_status_becomes_its_class(proxy: Proxy, status: int, kind: type[sdk.APIStatusError]) -> None:
    through = proxy.client({"status": status}, max_retries=0)
    fails(lambda: through.agent.runs.list(), kind, status)
    assert len(proxy.seen) == 1


@pytest.mark.parametrize("status", [409, 500])
def test_should_retry_false_is_not_retried(proxy: Proxy, status: int) -> None:
    through = proxy.client({"status": status, "headers": {"x-should-retry": "false"}})
    fails(lambda: through.agent.runs.list(), sdk.APIStatusError, status)
    assert len(proxy.seen) == 1


@pytest.mark.parametrize("status", [409, 500])
def test_without_a_word_it_is_retried_twice(proxy: Proxy, status: int) -> None:
    through = proxy.client({"status": status, "times": 3, "headers": {"retry-after-ms": "1"}})
    fails(lambda: through.agent.runs.list(), sdk.APIStatusError, status)
    assert [request["retry"] for request in proxy.seen] == [0, 1, 2]


def test_429_with_retry_after_is_retried_and_then_succeeds(proxy: Proxy) -> None:
    through = proxy.client({"status": 429, "times": 2, "headers": {"retry-after": "0.05"}})
    assert through.agent.runs.list(limit=1).page_info is not None
    assert [request["status"] for request in proxy.seen] == [429, 429, 200]


def test_a_dropped_connection_is_retried_and_then_succeeds(proxy: Proxy) -> None:
    proxy.client({"refuse": True}).agent.runs.list(limit=1)
    assert [request["status"] for request in proxy.seen] == [0, 200]


def test_h9_a_lost_answer_makes_no_second_run_when_the_caller_gives_a_key(proxy: Proxy) -> None:
    name = unique("lost")
    through = proxy.client({"lose": True})
    run_id = through.agent.run(prompt="once", config=parked(name), extra_headers={"Idempotency-Key": unique("key")}).run_id
    assert [request["status"] for request in proxy.seen] == [200, 200]
    assert [run.run_id for run in client().agent.runs.list(name=name)] == [run_id]
