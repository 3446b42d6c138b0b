"""What the two drivers of the shared suite have in common: the script server, and a
client's errors in the words of the suite."""

from __future__ import annotations

import json
import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Mapping, Sequence
from urllib.request import Request, urlopen

import pytest
from pydantic import BaseModel

import lineshaft
from lineshaft._options import CallOptions
from lineshaft._retry import Backoff

KINDS: Mapping[type[Exception], str] = {
    lineshaft.BadRequestError: "bad_request",
    lineshaft.AuthenticationError: "authentication",
    lineshaft.PermissionDeniedError: "permission_denied",
    lineshaft.NotFoundError: "not_found",
    lineshaft.ConflictError: "conflict",
    lineshaft.PayloadTooLargeError: "too_large",
    lineshaft.UnprocessableError: "unprocessable",
    lineshaft.RateLimitError: "rate_limit",
    lineshaft.InternalServerError: "server",
    lineshaft.APIStatusError: "status",
    lineshaft.WaitTimeoutError: "timeout",
    lineshaft.APITimeoutError: "timeout",
    lineshaft.APIConnectionError: "connection",
    lineshaft.APIResponseError: "response",
    lineshaft.StreamError: "response",
    lineshaft.ConfigurationError: "usage",
    ValueError: "usage",
}


def script(path: str, body: Any = None) -> Any:
    """Asks the script server."""
    address = os.environ["LINESHAFT_SCRIPT_URL"]
    data = None if body is None else json.dumps(body, default=str).encode()
    request = Request(address + path, data=data, headers={"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def scenarios(*has: str) -> list[Any]:
    """The scenarios that a driver with these abilities can do, as parameters."""
    if "LINESHAFT_SCRIPT_URL" not in os.environ:
        if os.environ.get("CI"):
            raise RuntimeError("LINESHAFT_SCRIPT_URL is not set: run tests/clients/run python")
        reason = "LINESHAFT_SCRIPT_URL is not set: run tests/clients/run python"
        return [pytest.param("", marks=pytest.mark.skip(reason=reason))]
    listed = script("/_/scenarios")["scenarios"]
    return [s["name"] for s in listed if set(s.get("needs") or ()) <= set(has)]


def settings(started: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for the client of a scenario."""
    given: Mapping[str, Any] = started.get("client") or {}
    found: dict[str, Any] = {"base_url": started["base_url"], "api_key": started["api_key"]}
    for name in ("max_retries", "stream_retries", "headers"):
        if name in given:
            found[name] = given[name]
    if "timeout_ms" in given:
        found["timeout"] = given["timeout_ms"] / 1000
    if "stream_idle_ms" in given:
        found["stream_idle_timeout"] = given["stream_idle_ms"] / 1000
    return found


def hurry(client: lineshaft.Lineshaft | lineshaft.AsyncLineshaft) -> None:
    """Shortens the pauses between attempts."""
    transport = client._transport
    transport.settings = transport.settings.changed(backoff=Backoff(first=0.001, longest=0.005))


def options(call: Mapping[str, Any]) -> CallOptions:
    """The options of the one call."""
    given: Mapping[str, Any] = call.get("options") or {}
    found: CallOptions = {}
    if "timeout_ms" in given:
        found["timeout"] = given["timeout_ms"] / 1000
    if "max_retries" in given:
        found["max_retries"] = given["max_retries"]
    if "idempotency_key" in given:
        found["idempotency_key"] = given["idempotency_key"]
    if "headers" in given:
        found["extra_headers"] = given["headers"]
    return found


def waiting(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a wait."""
    found: dict[str, Any] = {}
    for name, wire in (("interval", "interval_ms"), ("timeout", "timeout_ms")):
        if args.get(wire):
            found[name] = args[wire] / 1000
    return found


def plain(value: Any) -> Any:
    """A value in the names of the wire."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def page(found: Any) -> Any:
    """A page of runs as the wire has it."""
    info = {"has_next_page": found.has_next_page, "next_cursor": found.next_cursor}
    return {"runs": plain(found.items), "page_info": info}


def raw(answer: Any, value: Any) -> Any:
    return {"status": answer.status_code, "headers": dict(answer.headers), "value": value}


def described(error: Exception) -> dict[str, Any]:
    """An error in the words of the suite."""
    kind = next(kind for cls, kind in KINDS.items() if isinstance(error, cls))
    cause = error.__cause__
    if isinstance(error, lineshaft.StreamError) and isinstance(cause, lineshaft.APIError):
        kind = described(cause)["kind"]
    elif isinstance(error, lineshaft.StreamError) and error.gave_up:
        kind = "connection"
    told: dict[str, Any] = {"kind": kind, "message": f"{error} {error!r}"}
    status = error if isinstance(error, lineshaft.APIStatusError) else cause
    if isinstance(status, lineshaft.APIStatusError):
        told.update(
            status=status.status_code,
            code=status.code,
            detail=status.detail,
            request_id=status.request_id,
            trace_id=status.trace_id,
        )
        if status.retry_after is not None:
            told["retry_after_ms"] = status.retry_after * 1000
    return told


class AtOnce:
    """Runs all scenarios side by side, as they wait for most of the time; each test
    then takes its own. All end within the first test: between tests pytest changes the
    environment, which a client that is just made reads."""

    def __init__(self, drive: Callable[[str], None], names: Sequence[Any]) -> None:
        self._drive = drive
        self._names = [name for name in names if isinstance(name, str)]
        self._running: dict[str, Future[None]] = {}

    def result(self, name: str) -> None:
        if not self._running:
            with ThreadPoolExecutor(16) as pool:
                self._running = {n: pool.submit(self._drive, n) for n in self._names}
                wait(self._running.values())
        self._running[name].result()


def finish(started: Mapping[str, Any], value: Any, error: Exception | str | None) -> None:
    """Has the scenario judged."""
    report: dict[str, Any] = {"id": started["id"], "value": value}
    if error is not None:
        report["error"] = {"kind": error, "message": error} if isinstance(error, str) else described(error)
    verdict = script("/_/finish", report)
    if not verdict["ok"]:
        pytest.fail(
            "\n".join([*verdict["problems"], json.dumps(verdict.get("requests"), indent=1), repr(error)]), pytrace=False
        )
