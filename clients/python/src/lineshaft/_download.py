"""Files that the server keeps, which may be larger than memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import AsyncIterator, Iterator, Union

import anyio

from ._async_transport import AsyncTransport
from ._errors import APIConnectionError, APIStatusError
from ._request import Prepared, Request, prepare
from ._retry import next_pause
from ._transport import Transport

PathLike = Union[str, "os.PathLike[str]"]


class _Attempts:
    """Counts the attempts at one download."""

    def __init__(self, transport: Transport | AsyncTransport, request: Prepared) -> None:
        self._transport = transport
        self._request = request
        self._made = 0

    def pause_after(self, error: APIStatusError | APIConnectionError) -> float | None:
        """The pause before the next attempt, or None when there is none."""
        self._made += 1
        return next_pause(
            error,
            replay=True,
            attempt=self._made,
            retries=self._request.max_retries,
            backoff=self._transport.settings.backoff,
        )


class Download:
    """A file to be fetched. Nothing is sent before one of the methods is called."""

    def __init__(self, transport: Transport, request: Request) -> None:
        self._transport = transport
        self._request = prepare(request, transport.settings)

    def chunks(self) -> Iterator[bytes]:
        """The bytes as they come. What breaks off is not tried again."""
        with self._transport.open(self._request, self._request.timeout) as response:
            yield from response.iter_bytes()

    def read(self) -> bytes:
        """All of it, in memory."""
        attempts = _Attempts(self._transport, self._request)
        while True:
            try:
                return b"".join(self.chunks())
            except (APIStatusError, APIConnectionError) as error:
                self._pause(attempts, error)

    def save(self, path: PathLike) -> Path:
        """Writes it to a file, which is there once all of it is."""
        target = Path(path)
        part = _part_of(target)
        attempts = _Attempts(self._transport, self._request)
        try:
            while True:
                try:
                    with part.open("wb") as file:
                        for chunk in self.chunks():
                            file.write(chunk)
                    os.replace(part, target)
                    return target
                except (APIStatusError, APIConnectionError) as error:
                    self._pause(attempts, error)
        finally:
            part.unlink(missing_ok=True)

    def _pause(self, attempts: _Attempts, error: APIStatusError | APIConnectionError) -> None:
        pause = attempts.pause_after(error)
        if pause is None:
            raise error
        self._transport.sleep(pause)


class AsyncDownload:
    """A file to be fetched. Nothing is sent before one of the methods is called."""

    def __init__(self, transport: AsyncTransport, request: Request) -> None:
        self._transport = transport
        self._request = prepare(request, transport.settings)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they come. What breaks off is not tried again."""
        async with self._transport.open(self._request, self._request.timeout) as response:
            async for chunk in response.aiter_bytes():
                yield chunk

    async def read(self) -> bytes:
        """All of it, in memory."""
        attempts = _Attempts(self._transport, self._request)
        while True:
            try:
                return b"".join([chunk async for chunk in self.chunks()])
            except (APIStatusError, APIConnectionError) as error:
                await self._pause(attempts, error)

    async def save(self, path: PathLike) -> Path:
        """Writes it to a file, which is there once all of it is."""
        target = Path(path)
        part = _part_of(target)
        attempts = _Attempts(self._transport, self._request)
        try:
            while True:
                try:
                    async with await anyio.open_file(part, "wb") as file:
                        async for chunk in self.chunks():
                            await file.write(chunk)
                    os.replace(part, target)
                    return target
                except (APIStatusError, APIConnectionError) as error:
                    await self._pause(attempts, error)
        finally:
            part.unlink(missing_ok=True)

    async def _pause(self, attempts: _Attempts, error: APIStatusError | APIConnectionError) -> None:
        pause = attempts.pause_after(error)
        if pause is None:
            raise error
        await self._transport.sleep(pause)


def _part_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
