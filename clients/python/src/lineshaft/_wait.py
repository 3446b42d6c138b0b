"""When to look again at a run that has not ended."""

from __future__ import annotations

import time
from typing import Callable

from ._errors import APIError, APIStatusError, WaitTimeoutError
from ._follow import ENDED
from ._options import CallOptions
from ._retry import LONGEST_RETRY_AFTER, retryable
from ._settings import Settings
from .models import RunItem

FIRST_POLL = 0.2
LONGEST_POLL = 3.0


class Wait:
    """Waits for one run. An outage of the server is bridged; see stream_retries."""

    def __init__(
        self,
        settings: Settings,
        run_id: str,
        *,
        timeout: float | None,
        interval: float | None,
        on_change: Callable[[RunItem], object] | None,
    ) -> None:
        self._settings = settings
        self._run_id = run_id
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._interval = interval
        self._on_change = on_change
        self._looks = 0
        self._failures = 0
        self._state: str | None = None

    def seen(self, run: RunItem) -> bool:
        """Takes a look at the run and tells whether it has ended."""
        self._failures = 0
        if run.state != self._state:
            self._state = run.state
            if self._on_change is not None:
                self._on_change(run)
        return run.state in ENDED

    def pause(self) -> float:
        """The pause before the next look."""
        base = self._interval if self._interval is not None else FIRST_POLL * 2 ** min(self._looks // 2, 4)
        self._looks += 1
        return self._in_time(min(base, LONGEST_POLL) if self._interval is None else base)

    def pause_after(self, error: APIError) -> float:
        """The pause after a look that failed; raises when there should be no other."""
        if not retryable(error, replay=True) or self._failures >= self._settings.stream_retries:
            raise error
        self._failures += 1
        self._looks += 1
        pause = self._settings.backoff.pause(self._failures - 1)
        if isinstance(error, APIStatusError) and error.retry_after is not None:
            pause = max(pause, min(error.retry_after, LONGEST_RETRY_AFTER))
        return self._in_time(pause)

    def look(self) -> CallOptions:
        """The options of the next look, which must not outlast the wait: it is sent
        once, since a look that failed is followed by another anyway."""
        timeout = self._settings.timeout
        if self._deadline is not None:
            left = max(self._deadline - time.monotonic(), 0.001)
            timeout = left if timeout is None else min(left, timeout)
        return {"timeout": timeout, "max_retries": 0}

    def _in_time(self, pause: float) -> float:
        if self._deadline is None:
            return pause
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise WaitTimeoutError(self._run_id, self._timeout or 0, self._state)
        return min(pause, left)
