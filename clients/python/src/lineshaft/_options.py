"""What may be given to a single call."""

from __future__ import annotations

from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, Callable, Mapping

from typing_extensions import TypedDict


class CallOptions(TypedDict, total=False):
    """Settings of one call, which go before those of the client."""

    timeout: float | None
    """Seconds for each attempt, answer included; None waits without end."""
    max_retries: int
    """How often the call is sent again when it fails."""
    idempotency_key: str
    """Sent instead of a fresh key; for POST alone."""
    extra_headers: Mapping[str, str]
    extra_query: Mapping[str, Any]
    extra_body: Mapping[str, Any]
    """Members for the JSON body that this version of the package does not know."""


_KNOWN = frozenset(CallOptions.__annotations__)


def checked(method: Callable[..., object], options: CallOptions) -> CallOptions:
    """The options that a method was called with. A misspelt argument would be left out
    without a word otherwise, and a list would be of everything."""
    unknown = [name for name in options if name not in _KNOWN]
    if not unknown:
        return options
    named = [n for n, p in signature(method).parameters.items() if p.kind is not Parameter.VAR_KEYWORD]
    told: list[str] = []
    for name in unknown:
        near = get_close_matches(name, [*named, *sorted(_KNOWN)], 1)
        told.append(f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name))
    raise TypeError(
        f"{method.__qualname__}() does not know the argument {', '.join(told)}; "
        "what only a newer server knows goes into extra_body or extra_query"
    )


class NotGiven:
    """The type of NOT_GIVEN."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = NotGiven()
"""Leaves a field out where None would be sent as null."""
