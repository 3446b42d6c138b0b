"""Runs: what the API has, and what a client makes of it."""

from __future__ import annotations

from typing import Callable

from .._errors import APIError
from .._follow import RunFollower
from .._generated import runs as generated
from .._stream import AsyncEventStream, EventStream
from .._wait import Wait
from ..models import RunItem


class Runs(generated.Runs):
    __doc__ = generated.Runs.__doc__

    def stream(self, run_id: str, *, after: int = 0) -> EventStream:
        """Follow a run's log: first what there is after the given sequence, then events
        as they happen. It ends when the run has ended and its log was read to the end.
        """
        return EventStream(self._transport, RunFollower(run_id, after))

    def wait(
        self,
        run_id: str,
        *,
        timeout: float | None = None,
        interval: float | None = None,
        on_change: Callable[[RunItem], object] | None = None,
    ) -> RunItem:
        """The run when it has ended, however it ended: look at its state. A run that is
        BLOCKED waits for a follow-up, and so does this.

        Args:
          timeout: Seconds to wait at most; WaitTimeoutError is raised after that. The run goes on.
          interval: Seconds between two looks; by default from 0.2 slowing down to 3.
          on_change: Called with the run at first and after each change of its state.
        """
        waiting = Wait(self._transport.settings, run_id, timeout=timeout, interval=interval, on_change=on_change)
        while True:
            try:
                run = self.get(run_id, **waiting.look())
            except APIError as error:
                pause = waiting.pause_after(error)
            else:
                if waiting.seen(run):
                    return run
                pause = waiting.pause()
            self._transport.sleep(pause)


class AsyncRuns(generated.AsyncRuns):
    __doc__ = generated.AsyncRuns.__doc__

    def stream(self, run_id: str, *, after: int = 0) -> AsyncEventStream:
        """Follow a run's log: first what there is after the given sequence, then events
        as they happen. It ends when the run has ended and its log was read to the end.
        """
        return AsyncEventStream(self._transport, RunFollower(run_id, after))

    async def wait(
        self,
        run_id: str,
        *,
        timeout: float | None = None,
        interval: float | None = None,
        on_change: Callable[[RunItem], object] | None = None,
    ) -> RunItem:
        """The run when it has ended, however it ended: look at its state. A run that is
        BLOCKED waits for a follow-up, and so does this.

        Args:
          timeout: Seconds to wait at most; WaitTimeoutError is raised after that. The run goes on.
          interval: Seconds between two looks; by default from 0.2 slowing down to 3.
          on_change: Called with the run at first and after each change of its state.
        """
        waiting = Wait(self._transport.settings, run_id, timeout=timeout, interval=interval, on_change=on_change)
        while True:
            try:
                run = await self.get(run_id, **waiting.look())
            except APIError as error:
                pause = waiting.pause_after(error)
            else:
                if waiting.seen(run):
                    return run
                pause = waiting.pause()
            await self._transport.sleep(pause)
