"""Cuts a stream of bytes into Server-Sent Events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator

from ._retry import LONGEST_RETRY_AFTER

MAX_FRAME_BYTES = 32 << 20


class FrameTooLarge(Exception):
    """An event would take more memory than any event needs."""


@dataclass(frozen=True)
class Frame:
    """One event. Its id is empty when it has none of its own."""

    id: str
    data: bytes


class FrameReader:
    """Takes bytes and gives frames. Only a frame that a blank line ended is given:
    what stands before a cut is dropped and comes again after a resume."""

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self.retry = 0.0
        """The pause in seconds that the server last asked for."""
        self.opened = 0.0
        """The same, once the frame that asked for it came whole."""
        self.heartbeat = False
        """Whether a frame with a comment came whole."""
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._first = True
        self._id = ""
        self._data: list[bytes] = []
        self._size = 0
        self._begun = False
        self._comment = False

    @property
    def cut(self) -> bool:
        """Whether the bytes so far end within a frame."""
        return self._begun or bool(self._buffer)

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The frames that some more bytes complete."""
        self._buffer += chunk
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end < 0:
                self._scanned = len(self._buffer)
                break
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            frame = self._line(line[:-1] if line.endswith(b"\r") else line)
            if frame is not None:
                yield frame
        if len(self._buffer) + self._size > self._limit:
            raise FrameTooLarge("an event of the stream is too large")

    def _line(self, line: bytes) -> Frame | None:
        if self._first:
            self._first = False
            line = line[3:] if line.startswith(b"\xef\xbb\xbf") else line
        if not line:
            return self._end()
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        self._begun = self._begun or name != b""
        self._comment = self._comment or name == b""
        if name == b"data":
            self._size += len(value)
            if self._size > self._limit:
                raise FrameTooLarge("an event of the stream is too large")
            self._data.append(value)
        elif name == b"id":
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = min(int(value[:12]) / 1000, LONGEST_RETRY_AFTER)
        return None

    def _end(self) -> Frame | None:
        frame = Frame(self._id, b"\n".join(self._data)) if self._data else None
        self.heartbeat = self.heartbeat or self._comment
        self.opened = self.retry
        self._id, self._data, self._size, self._begun, self._comment = "", [], 0, False, False
        return frame
