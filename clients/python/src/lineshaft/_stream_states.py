"""Follows the state changes of all runs."""

from __future__ import annotations

from dataclasses import replace

from ._follow import read_event
from ._options import CallOptions
from ._request import EVENT_STREAM, Request
from ._settings import merged
from ._sse import Frame
from .models import RunEvent, RunItem


class StatesFollower:
    """Follows a stream that has no end; the id of an event is where to go on."""

    ended = False

    def __init__(self, request: Request) -> None:
        self.path = request.path
        self._request = replace(request, accept=EVENT_STREAM)
        self._last = ""

    def request(self) -> Request:
        options: CallOptions = {**self._request.options}
        resume = {"Last-Event-ID": self._last} if self._last else {}
        options["extra_headers"] = merged({"Cache-Control": "no-cache"}, options.get("extra_headers"), resume)
        return replace(self._request, options=options)

    def accept(self, frame: Frame) -> RunEvent | None:
        event = read_event(frame, self.path, "an event")
        if frame.id and frame.id == self._last:
            return None
        self._last = frame.id or self._last
        return event

    def look(self) -> Request | None:
        return None

    def looked(self, run: RunItem) -> bool:
        raise AssertionError("a stream over all runs does not look at one")

    def at_end(self) -> bool:
        return self.ended
