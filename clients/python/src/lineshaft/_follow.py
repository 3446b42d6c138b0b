"""How a stream of events is followed over its connections, without doing it: both
kinds of client ask here what to send, what an event means and when to stop."""

from __future__ import annotations

import time
from typing import Protocol

from pydantic import ValidationError

from ._errors import APIConnectionError, APIError, APIStatusError, APITimeoutError, StreamError
from ._request import EVENT_STREAM, Request, path
from ._retry import LONGEST_RETRY_AFTER, retryable
from ._settings import Settings
from ._sse import Frame, FrameReader
from .models import RunEvent, RunItem

ENDED = frozenset(("SUCCEEDED", "FAILED", "ERROR", "CANCELLED"))
"""The states that a run does not leave, unless a follow-up takes it up again."""


class Follower(Protocol):
    """One stream, over as many connections as it takes."""

    path: str
    ended: bool
    """Nothing more will come, as the stream itself says."""

    def request(self) -> Request:
        """What opens the next connection, after the last event that was delivered."""
        ...

    def accept(self, frame: Frame) -> RunEvent | None:
        """The event of a frame, if it is new."""
        ...

    def look(self) -> Request | None:
        """What asks whether more will come; None when more always may."""
        ...

    def looked(self, run: RunItem) -> bool:
        """Takes what look was answered and tells whether only the rest of the log is
        to come."""
        ...

    def at_end(self) -> bool:
        """Whether a connection that ended in good order was the last one."""
        ...


class RunFollower:
    """Follows the log of one run to its end."""

    def __init__(self, run_id: str, after: int) -> None:
        self._run = path("/agent/runs/{}", run_id)
        self.path = self._run + "/events"
        self.last = after
        self.ended = False
        self._over = False
        self._begin = after

    def request(self) -> Request:
        self._begin = self.last
        headers = {"Cache-Control": "no-cache"}
        if self.last > 0:
            headers["Last-Event-ID"] = str(self.last)
        return Request("GET", self.path, accept=EVENT_STREAM, options={"extra_headers": headers})

    def accept(self, frame: Frame) -> RunEvent | None:
        event = read_event(frame, self.path, f"the event after {self.last}")
        if event.sequence <= self.last:
            return None
        if event.type == "state":
            self.ended = event.data.get("to") in ENDED
        self.last = event.sequence
        return event

    def look(self) -> Request | None:
        return Request("GET", self._run, replay=True)

    def looked(self, run: RunItem) -> bool:
        self._over = run.state in ENDED
        return self._over

    def at_end(self) -> bool:
        # The log of a run that is over may still take many connections: only one that
        # brings nothing new shows its end.
        return self.ended or (self._over and self.last == self._begin)


def read_event(frame: Frame, path: str, name: str) -> RunEvent:
    """The event of a frame. A broken one is final: the same would come again."""
    try:
        event = RunEvent.model_validate_json(frame.data)
    except ValidationError as error:
        raise StreamError(f"{name} is not readable", method="GET", path=path) from error
    if not isinstance(event.sequence, int) or not isinstance(event.data, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StreamError(f"{name} is not readable", method="GET", path=path)
    return event


class Patience:
    """Counts connections in a row without a sign of life. That is a new event or the
    server's heartbeat, whole: half a frame may come again and again. It is also a stream
    that begins as the server begins it, with the pause that it asks for, and is cut only
    after longer than that again: a quiet run behind a proxy that ends what is silent. How
    long the beginning took does not count: a server that answers late may still end all
    that it begins."""

    def __init__(self, settings: Settings, path: str) -> None:
        self._settings = settings
        self._path = path
        self._failures = 0
        self._asked = 0.0
        self._began: float | None = None
        self._opened = 0.0

    def begin(self) -> None:
        """A connection is about to be made."""
        self._began, self._opened = None, 0.0

    def end(self, error: APIError | None = None) -> None:
        """The connection is over. One that was silent to us does not count, nor one that
        ended within an event."""
        lasted = 0.0 if self._began is None else time.monotonic() - self._began
        if 0 < self._opened < lasted and not isinstance(error, APITimeoutError):
            self.alive()
        self._opened = 0.0

    def alive(self) -> None:
        """A connection brought something."""
        self._failures = 0

    def heard(self, frames: FrameReader) -> None:
        """Takes what a connection has brought beside events."""
        self._asked = frames.retry
        if self._began is None and frames.opened > 0:
            self._began = time.monotonic()
        self._opened = 0.0 if frames.cut else frames.opened
        if frames.heartbeat:
            self.alive()

    def pause(self, error: APIError | None) -> float:
        """The pause before the next connection; raises when there should be none."""
        if error is not None and not retryable(error, replay=True):
            raise error
        if self._failures >= self._settings.stream_retries:
            reason = "the server ended each of them at once" if error is None else str(error)
            raise StreamError(
                f"gave up after {self._failures + 1} connections in a row that brought nothing: {reason}",
                method="GET",
                path=self._path,
                gave_up=True,
            ) from error
        pause = max(self._asked, self._settings.backoff.pause(self._failures))
        if isinstance(error, APIStatusError) and error.retry_after is not None:
            pause = min(error.retry_after, LONGEST_RETRY_AFTER)
        self._failures += 1
        return pause


def cut_short(path: str) -> APIConnectionError:
    """The error for a stream that ended within an event."""
    return APIConnectionError("the stream was cut within an event", method="GET", path=path)


def not_a_stream(path: str, kind: str) -> StreamError:
    """The error for an answer that is no stream of events."""
    return StreamError(
        f"the server answered {kind!r} instead of a stream of events: check the server address", method="GET", path=path
    )
