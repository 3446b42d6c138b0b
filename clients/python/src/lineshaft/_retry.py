"""When a call is sent again, and after which pause."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Callable, Mapping

from ._errors import APIConnectionError, APIStatusError

LONGEST_RETRY_AFTER = 60.0
"""The longest pause that a server can ask for and get, in seconds. Past it the
caller decides: the error tells the pause."""


@dataclass(frozen=True)
class Backoff:
    """Pauses that double up to the longest, each shortened by up to a quarter."""

    first: float = 0.5
    longest: float = 8.0
    jitter: Callable[[], float] = random.random

    def pause(self, n: int) -> float:
        """The wait before retry n, counted from 0."""
        base = min(self.first * 2 ** min(n, 30), self.longest)
        return base - base * self.jitter() / 4


def next_pause(error: Exception, *, replay: bool, attempt: int, retries: int, backoff: Backoff) -> float | None:
    """The pause before the next attempt, or None when there is none."""
    if attempt > retries or not retryable(error, replay):
        return None
    pause = backoff.pause(attempt - 1)
    if isinstance(error, APIStatusError) and error.retry_after is not None:
        pause = error.retry_after
    return pause if pause <= LONGEST_RETRY_AFTER else None


def retryable(error: Exception, replay: bool) -> bool:
    """Whether another attempt may help and cannot harm. With replay, sending again
    is harmless even if the server acted on an attempt whose answer was lost."""
    if isinstance(error, APIStatusError):
        if error.should_retry is not None:
            return error.should_retry
        status = error.status_code
        # With 429 and 503 a server says that it did nothing.
        return (status in (408, 409, 429) or status >= 500) and (replay or status in (429, 503))
    if isinstance(error, APIConnectionError):
        return not error.permanent and (replay or error.unsent)
    return False


def may_have_acted(error: APIStatusError | APIConnectionError) -> bool:
    """Whether the server may have done what it was asked although the attempt failed:
    no answer came, or one from somebody who does not know."""
    if isinstance(error, APIStatusError):
        return error.status_code >= 500 and error.status_code != 503
    return not error.unsent


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How many seconds the server asks to wait: retry-after-ms, or Retry-After in
    seconds or as a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return max((at - (now or datetime.now(timezone.utc))).total_seconds(), 0.0)


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """What the server itself says about trying again, if anything."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", ""))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None
