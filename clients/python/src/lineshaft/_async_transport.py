"""Sends requests without blocking; the counterpart of _transport."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import AsyncGenerator, Awaitable, Callable

import anyio
import httpx

from ._answer import MAX_ERROR_BYTES, Answer, refusal
from ._connection import failure, frozen, late, redirected, too_large, unusable, wire_request
from ._errors import APIConnectionError, APIStatusError
from ._request import Prepared, Request, prepare
from ._retry import may_have_acted, next_pause
from ._settings import Settings


class AsyncTransport:
    """Sends requests of one client. It may be used by many tasks of one loop."""

    def __init__(
        self, settings: Settings, http: httpx.AsyncClient, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self.settings = settings
        self.http = http
        self.sleep = sleep

    async def send(self, request: Request) -> Answer:
        """The answer to a request, after as many attempts as it takes or may take."""
        prepared = prepare(request, self.settings)
        attempt, maybe_done = 1, False
        while True:
            try:
                return await self._attempt(prepared, attempt)
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
            await self.sleep(pause)
            attempt += 1

    @asynccontextmanager
    async def open(self, request: Prepared, timeout: float | None) -> AsyncGenerator[httpx.Response, None]:
        """One attempt whose answer has a good status and is still to be read. The
        timeout is for all until its body, and then for each wait for bytes."""
        try:
            response: httpx.Response | None = None
            with anyio.move_on_after(timeout):
                response = await self._follow(request, timeout)
            if response is None:
                raise late(request, timeout)
            try:
                if response.status_code >= 300:
                    raise refusal(request, response, await _error_body(response))
                yield response
            finally:
                await _closed(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(request, error) from error

    async def _follow(self, request: Prepared, timeout: float | None) -> httpx.Response:
        sending = wire_request(self.http, request, timeout)
        hops = 0
        while True:
            try:
                response = await self.http.send(sending, stream=True, follow_redirects=False)
            except RuntimeError as error:
                told = unusable(request, self.http, error)
                if told is None:
                    raise
                raise told from error
            try:
                following = redirected(request, response, hops)
            except BaseException:
                await _closed(response)
                raise
            if following is None:
                return response
            await _closed(response)
            sending = following
            hops += 1

    async def _attempt(self, request: Prepared, attempt: int) -> Answer:
        answer: Answer | None = None
        with anyio.move_on_after(request.timeout):
            async with self.open(request, request.timeout) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > self.settings.max_answer_bytes:
                        raise too_large(request, self.settings)
                answer = Answer(
                    request.method, request.path, response.status_code, frozen(response.headers), bytes(body), attempt
                )
        if answer is None:
            raise late(request, request.timeout)
        return answer


async def _error_body(response: httpx.Response) -> bytes:
    """What can be read of it; of a broken one that is still the best there is."""
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= MAX_ERROR_BYTES:
                break
    except httpx.HTTPError:
        pass
    return bytes(body[:MAX_ERROR_BYTES])


async def _closed(response: httpx.Response) -> None:
    """Frees the connection, also while the task is being cancelled."""
    with anyio.CancelScope(shield=True):
        await response.aclose()
