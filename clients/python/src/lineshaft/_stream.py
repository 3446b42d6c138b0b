"""Streams of events that survive their connections."""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import AsyncGenerator, AsyncIterator, Generator, Iterator

from ._answer import parse
from ._async_transport import AsyncTransport
from ._errors import APIError, StreamError
from ._follow import Follower, Patience, cut_short, not_a_stream
from ._request import EVENT_STREAM, prepare
from ._sse import FrameReader, FrameTooLarge
from ._transport import Transport
from .models import RunEvent, RunItem


class EventStream(Iterator[RunEvent]):
    """Events as they happen, each once and in order. Connections that break are
    replaced. Leave the loop at any time; `with` or close frees the connection at once."""

    def __init__(self, transport: Transport, follower: Follower) -> None:
        self._events = _follow(transport, follower)  # apart from self, so that both go when one goes

    def __next__(self) -> RunEvent:
        return next(self._events)

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the connection; the stream is over then."""
        self._events.close()


class AsyncEventStream(AsyncIterator[RunEvent]):
    """Events as they happen, each once and in order. Connections that break are
    replaced. Leave the loop at any time; `async with` or aclose frees the connection
    at once. After a wait for an event that was cancelled, such as by a time-out, the
    next one goes on where the stream was."""

    def __init__(self, transport: AsyncTransport, follower: Follower) -> None:
        patience = Patience(transport.settings, follower.path)
        self._begin = partial(_async_follow, transport, follower, patience)
        self._events = self._begin()
        self._closed = False

    async def __anext__(self) -> RunEvent:
        try:
            return await self._events.__anext__()
        except Exception:
            raise
        except BaseException:
            # What was cancelled is over, and would look like the end of the log.
            if not self._closed:
                self._events = self._begin()
            raise

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Frees the connection; the stream is over then."""
        self._closed = True
        await self._events.aclose()


def _follow(transport: Transport, follower: Follower) -> Generator[RunEvent, None, None]:
    patience = Patience(transport.settings, follower.path)
    while True:
        error: APIError | None = None
        patience.begin()
        try:
            yield from _connection(transport, follower, patience)
            patience.end()
            # A clean end means "no more" only at the end of the log: a proxy or a
            # server that stops ends connections cleanly, too, also within an old log.
            if follower.at_end():
                return
            look = follower.look()
            if look is not None and follower.looked(parse(transport.send(look), RunItem)):
                continue  # one more connection brings what is left of the log
        except APIError as failed:
            error = failed
            patience.end(error)
        transport.sleep(patience.pause(error))


def _connection(transport: Transport, follower: Follower, patience: Patience) -> Generator[RunEvent, None, None]:
    settings, path = transport.settings, follower.path
    frames = FrameReader()
    request = prepare(follower.request(), settings)
    with transport.open(request, settings.stream_idle_timeout) as response:
        if response.status_code == 204:
            follower.ended = True
            return
        kind = response.headers.get("content-type", "").split(";")[0].strip()
        if kind != EVENT_STREAM:
            raise not_a_stream(path, kind)
        try:
            for chunk in response.iter_bytes():
                for frame in frames.feed(chunk):
                    event = follower.accept(frame)
                    if event is not None:
                        patience.alive()
                        yield event
                patience.heard(frames)
        except FrameTooLarge as error:
            raise StreamError(str(error), method="GET", path=path) from error
        if frames.cut:
            raise cut_short(path)


async def _async_follow(
    transport: AsyncTransport, follower: Follower, patience: Patience
) -> AsyncGenerator[RunEvent, None]:
    while True:
        error: APIError | None = None
        connection = _async_connection(transport, follower, patience)
        patience.begin()
        try:
            async for event in connection:
                yield event
            patience.end()
            if follower.at_end():
                return
            look = follower.look()
            if look is not None and follower.looked(parse(await transport.send(look), RunItem)):
                continue  # one more connection brings what is left of the log
        except APIError as failed:
            error = failed
            patience.end(error)
        finally:
            await connection.aclose()
        await transport.sleep(patience.pause(error))


async def _async_connection(
    transport: AsyncTransport, follower: Follower, patience: Patience
) -> AsyncGenerator[RunEvent, None]:
    settings, path = transport.settings, follower.path
    frames = FrameReader()
    request = prepare(follower.request(), settings)
    async with transport.open(request, settings.stream_idle_timeout) as response:
        if response.status_code == 204:
            follower.ended = True
            return
        kind = response.headers.get("content-type", "").split(";")[0].strip()
        if kind != EVENT_STREAM:
            raise not_a_stream(path, kind)
        try:
            async for chunk in response.aiter_bytes():
                for frame in frames.feed(chunk):
                    event = follower.accept(frame)
                    if event is not None:
                        patience.alive()
                        yield event
                patience.heard(frames)
        except FrameTooLarge as error:
            raise StreamError(str(error), method="GET", path=path) from error
        if frames.cut:
            raise cut_short(path)
