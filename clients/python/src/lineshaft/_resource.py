"""What the resources of a client stand on: calls that answer with types."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generator, TypeVar

from ._answer import Answer, parse
from ._async_transport import AsyncTransport
from ._download import AsyncDownload, Download
from ._errors import NotFoundError
from ._pages import AsyncPage, AsyncPages, Page
from ._request import Request
from ._stream import AsyncEventStream, EventStream
from ._stream_states import StatesFollower
from ._transport import Transport

T = TypeVar("T")

_captured: ContextVar[list[Answer] | None] = ContextVar("lineshaft_captured", default=None)


@contextmanager
def captured() -> Generator[list[Answer], None, None]:
    """The answers to the calls of this thread or task, for as long as it is open."""
    answers: list[Answer] = []
    token = _captured.set(answers)
    try:
        yield answers
    finally:
        _captured.reset(token)


def _seen(answer: Answer) -> Answer:
    answers = _captured.get()
    if answers is not None:
        answers.append(answer)
    return answer


class Resource:
    """The calls about one noun."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _call(self, request: Request, kind: type[T]) -> T:
        return parse(_seen(self._transport.send(request)), kind)

    def _run(self, request: Request) -> None:
        _seen(self._transport.send(request))

    def _remove(self, request: Request) -> None:
        try:
            self._run(request)
        except NotFoundError as error:
            if not error.maybe_done:
                raise
            # An earlier attempt has done it.

    def _list(self, request: Request, member: str, kind: type[T]) -> Page[T]:
        return Page(self._transport, request, member, kind, _seen(self._transport.send(request)))

    def _download(self, request: Request) -> Download:
        return Download(self._transport, request)

    def _states(self, request: Request) -> EventStream:
        return EventStream(self._transport, StatesFollower(request))


class AsyncResource:
    """The calls about one noun, to be awaited."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _call(self, request: Request, kind: type[T]) -> T:
        return parse(_seen(await self._transport.send(request)), kind)

    async def _run(self, request: Request) -> None:
        _seen(await self._transport.send(request))

    async def _remove(self, request: Request) -> None:
        try:
            await self._run(request)
        except NotFoundError as error:
            if not error.maybe_done:
                raise
            # An earlier attempt has done it.

    def _list(self, request: Request, member: str, kind: type[T]) -> AsyncPages[T]:
        async def first() -> AsyncPage[T]:
            return AsyncPage(self._transport, request, member, kind, _seen(await self._transport.send(request)))

        return AsyncPages(first)

    def _download(self, request: Request) -> AsyncDownload:
        return AsyncDownload(self._transport, request)

    def _states(self, request: Request) -> AsyncEventStream:
        return AsyncEventStream(self._transport, StatesFollower(request))
