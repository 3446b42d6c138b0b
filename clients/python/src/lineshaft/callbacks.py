"""Checks the callbacks that a Lineshaft server sends.

    event = lineshaft.callbacks.verify(secret, request.headers, request.body)
    if event.type == "run.state_changed":
        print(event.data.run_id, event.data.state)

The same event may come twice; event.id tells. It is also the id of the event in the
run's log.
"""

from __future__ import annotations

import hmac
import re
import time
from datetime import datetime
from typing import Any, Iterable, Optional, Protocol, Sequence, Tuple, Union

from pydantic import ValidationError

from ._errors import LineshaftError
from ._model import Model
from ._signing.keys import Key, SigningError, digest, encode, read_shared
from .models import RunState

__all__ = ["CallbackData", "CallbackEvent", "VerificationError", "verify"]

TOLERANCE = 300.0
"""How many seconds a callback may be away from now, before or after."""

_MAX_SIGNATURES = 16


Text = Union[str, bytes]


class HeaderItems(Protocol):
    """Headers as most frameworks have them."""

    def items(self) -> Iterable[Tuple[str, Any]]: ...


class VerificationError(LineshaftError, ValueError):
    """The callback is not authentic, too old, or not readable. Answer 400 or 401."""


class CallbackData(Model):
    """What happened to a run."""

    event_id: str
    sequence: int
    run_id: str
    state: Union[RunState, str]
    previous_state: Optional[Union[RunState, str]] = None
    message: Optional[str] = None
    error_code: Optional[str] = None
    title: str
    name: Optional[str] = None
    factory_uid: Optional[str] = None
    automation_id: Optional[str] = None
    webhook_id: Optional[str] = None
    delivery_id: Optional[str] = None
    created_at: datetime
    finished_at: Optional[datetime] = None
    url: str


class CallbackEvent(Model):
    """One callback."""

    id: str
    """The same whenever this event is sent again, and in the run's log."""
    type: str
    """run.state_changed, or notification.test, which somebody sent to see it arrive."""
    timestamp: datetime
    data: CallbackData


def verify(
    secret: str | Sequence[str],
    headers: HeaderItems | Iterable[tuple[Text, Text]],
    body: bytes | str,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> CallbackEvent:
    """The event of a callback, if it is authentic; else VerificationError is raised.

    Args:
      secret: That of the notification, whsec_…; several while it is being rotated.
      headers: All headers of the request: a mapping, anything else with items(), or pairs.
      body: The body as it came: not parsed and written again.
      tolerance: How many seconds the callback may be away from now.
      now: Seconds since 1970, for tests.
    """
    found = _headers(headers)
    raw = _bytes(body)
    event_id, stamp = found["webhook-id"], found["webhook-timestamp"]
    if not re.fullmatch(r"[1-9][0-9]{0,13}", stamp):
        raise VerificationError("the header webhook-timestamp is not a time")
    if abs((time.time() if now is None else now) - int(stamp)) >= tolerance + 1:
        raise VerificationError("the callback is too old, or the clocks differ")
    sent = [part[3:] for part in found["webhook-signature"].split(" ") if part.startswith("v1,")][:_MAX_SIGNATURES]
    text = f"{event_id}.{stamp}.".encode() + raw
    # Each is compared, so that the time taken tells nothing.
    matches = [
        hmac.compare_digest(signature.encode(), want) for want in _signatures(secret, text) for signature in sent
    ]
    if not any(matches):
        raise VerificationError("no signature of the callback fits: check the secret")
    return _event(event_id, raw)


def _signatures(secret: str | Sequence[str], text: bytes) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets:
        raise VerificationError("the secret is missing")
    try:
        keys = [Key("shared", read_shared(one)) for one in secrets]
    except SigningError as error:
        raise VerificationError(str(error)) from None
    return [encode("base64", digest("sha256", key, text)).encode() for key in keys]


def _bytes(body: bytes | str) -> bytes:
    try:
        return body.encode() if isinstance(body, str) else bytes(body)
    except UnicodeEncodeError:
        raise VerificationError("the body is not text: give its bytes as they came") from None


def _ascii(text: Any) -> str:
    """A header as text. Frameworks hand on bytes that are no text in ways of their own;
    nothing of an authentic callback has them."""
    found = text.decode("latin-1") if isinstance(text, bytes) else text
    return found if isinstance(found, str) and found.isascii() else ""


def _headers(headers: HeaderItems | Iterable[tuple[Text, Text]]) -> dict[str, str]:
    """The three headers that count; one that is sent twice is not authentic."""
    given: Any = headers
    pairs: Iterable[tuple[Any, Any]] = given.items() if hasattr(headers, "items") else given
    found: dict[str, str] = {}
    for name, value in pairs:
        name = _ascii(name).lower()
        if name not in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            continue
        if name in found:
            raise VerificationError(f"the header {name} was sent twice")
        found[name] = _ascii(value)
        if value and not found[name]:
            raise VerificationError(f"the header {name} holds characters that no callback has")
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not found.get(name):
            raise VerificationError(f"the header {name} is missing")
    return found


def _event(event_id: str, body: bytes) -> CallbackEvent:
    try:
        event = CallbackEvent.model_validate_json(body)
    except ValidationError as error:
        raise VerificationError("the callback is authentic, but its body is not readable") from error
    event.id = event_id
    return event
