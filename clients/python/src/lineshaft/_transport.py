"""Sends requests and waits."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Callable, Generator

import httpx

from ._answer import MAX_ERROR_BYTES, Answer, refusal
from ._connection import failure, frozen, late, redirected, too_large, unusable, wire_request
from ._deadline import within
from ._errors import APIConnectionError, APIStatusError
from ._request import Prepared, Request, prepare
from ._retry import may_have_acted, next_pause
from ._settings import Settings


class Transport:
    """Sends requests of one client. It may be used by many threads at a time."""

    def __init__(self, settings: Settings, http: httpx.Client, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self.http = http
        self.sleep = sleep

    def send(self, request: Request) -> Answer:
        """The answer to a request, after as many attempts as it takes or may take."""
        prepared = prepare(request, self.settings)
        attempt, maybe_done = 1, False
        while True:
            try:
                return self._attempt(prepared, attempt)
            except (APIStatusError, APIConnectionError) as error:
                if isinstance(error, APIStatusError):
                    error.attempts, error.maybe_done = attempt, maybe_done
                maybe_done = maybe_done or may_have_acted(error)
                pause = next_pause(
                    error,
                    replay=prepared.replay,
                    attempt=attempt,
                    retries=prepared.max_retries,
                    backoff=self.settings.backoff,
                )
                if pause is None:
                    raise
            self.sleep(pause)
            attempt += 1

    @contextmanager
    def open(self, request: Prepared, timeout: float | None) -> Generator[httpx.Response, None, None]:
        """One attempt whose answer has a good status and is still to be read. The
        timeout is for all until its body, and then for each wait for bytes."""
        try:
            with within(timeout):
                response = self._follow(request, timeout)
            try:
                if response.status_code >= 300:
                    raise refusal(request, response, _error_body(response, timeout))
                yield response
            finally:
                response.close()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(request, error) from error

    def _follow(self, request: Prepared, timeout: float | None) -> httpx.Response:
        sending = wire_request(self.http, request, timeout)
        hops = 0
        while True:
            try:
                response = self.http.send(sending, stream=True, follow_redirects=False)
            except RuntimeError as error:
                told = unusable(request, self.http, error)
                if told is None:
                    raise
                raise told from error
            try:
                following = redirected(request, response, hops)
            except BaseException:
                response.close()
                raise
            if following is None:
                return response
            response.close()
            sending = following
            hops += 1

    def _attempt(self, request: Prepared, attempt: int) -> Answer:
        deadline = None if request.timeout is None else time.monotonic() + request.timeout
        with within(request.timeout), self.open(request, request.timeout) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > self.settings.max_answer_bytes:
                    raise too_large(request, self.settings)
                if deadline is not None and time.monotonic() > deadline:
                    raise late(request, request.timeout)
            return Answer(
                request.method, request.path, response.status_code, frozen(response.headers), bytes(body), attempt
            )


def _error_body(response: httpx.Response, timeout: float | None) -> bytes:
    """What can be read of it in time; of a broken one that is still the best there is."""
    deadline = None if timeout is None else time.monotonic() + timeout
    body = bytearray()
    try:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) >= MAX_ERROR_BYTES or (deadline is not None and time.monotonic() > deadline):
                break
    except httpx.HTTPError:
        pass
    return bytes(body[:MAX_ERROR_BYTES])
