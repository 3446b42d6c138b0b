"""Signs deliveries for the webhooks of a Lineshaft server, as their senders do.

    body = b'{"ok": true}'
    headers = lineshaft.webhooks.sign("github", secret, body)
    httpx.post(url, content=body, headers={**headers, "Content-Type": "application/json"})

Send exactly the bytes that were signed.
"""

from __future__ import annotations

import json
import re
import time
from typing import Mapping
from urllib.parse import quote
from uuid import uuid4

from typing_extensions import TypedDict

from ._signing.keys import SigningError, digest, encode, read_key
from ._signing.message import Delivery, check_id, message
from ._signing.schemes import SCHEMES, Digest, Encoding, Rule, Scheme
from .models import SignatureScheme

__all__ = ["SCHEME_NAMES", "HMACSettings", "SigningError", "bearer", "sign", "token_url"]

SCHEME_NAMES: tuple[str, ...] = tuple(sorted([*SCHEMES, "hmac"]))
"""The schemes that sign takes."""

_TOKEN_MARK = "{token}"
_PLACEHOLDERS = frozenset(("{body}", "{timestamp}", "{id}", "{method}", "{url}"))


class HMACSettings(TypedDict, total=False):
    """The settings of the scheme hmac, as the webhook has them."""

    header: str
    prefix: str
    digest: Digest
    encoding: Encoding
    template: str
    timestamp_header: str
    id_header: str


def sign(
    scheme: SignatureScheme,
    secret: str,
    body: bytes | str,
    *,
    id: str | None = None,
    url: str = "",
    method: str = "POST",
    timestamp: float | None = None,
    content_type: str = "application/json",
    hmac: HMACSettings | None = None,
) -> dict[str, str]:
    """The headers that a sender of a scheme sends with a body.

    Args:
      secret: For Discord and Standard Webhooks v1a the private key: hex, or whsk_ and base64.
      body: Exactly what will be sent. Linear has its time in it: webhookTimestamp, in milliseconds.
      id: Tells deliveries apart; the same twice is a duplicate. A new one when absent. It goes
        where the scheme has a header for it.
      url: The address that the delivery goes to, for HubSpot, Square and Twilio.
      timestamp: In seconds since 1970; now when absent.
      content_type: For Twilio, which signs forms in another way.
      hmac: For the scheme hmac, and required there.
    """
    found = _scheme(scheme, hmac)
    key = read_key(scheme, secret)
    raw = body.encode() if isinstance(body, str) else bytes(body)
    form = content_type.startswith("application/x-www-form-urlencoded")
    rule = next((r for r in found.rules if r.key == key.kind and (form or not r.form)), None)
    if rule is None:
        raise SigningError(f"the scheme {scheme} does not sign with this kind of secret")
    delivery_id = id if id is not None else f"msg_{uuid4().hex}"
    headers: dict[str, str] = {}
    if rule.id_header:
        check_id(rule.signed, delivery_id)
        headers[rule.id_header] = delivery_id
    elif found.id_header:
        headers[found.id_header] = delivery_id
    now = time.time() if timestamp is None else timestamp
    stamp = str(int(now * 1000) if rule.milliseconds else int(now))
    prefix = rule.prefix
    if rule.stamp_header:
        headers[rule.stamp_header] = stamp
    elif rule.stamp_item:
        prefix = f"{rule.stamp_item}={stamp},{prefix}"
    elif rule.stamp_body:
        _check_body_time(raw, rule.stamp_body)
    text = message(rule.signed, Delivery(raw, stamp, delivery_id, method, url))
    headers[rule.header] = prefix + encode(rule.encoding, digest(rule.digest, key, text))
    return headers


def bearer(token: str) -> dict[str, str]:
    """The headers for a webhook whose auth_mode is token."""
    return {"Authorization": f"Bearer {token}"}


def token_url(url: str, token: str) -> str:
    """The address of a webhook whose auth_mode is url_token, with the token in its place."""
    if _TOKEN_MARK not in url:
        url = f"{url.rstrip('/')}/{_TOKEN_MARK}"
    return url.replace(_TOKEN_MARK, quote(token, safe=""))


def _scheme(name: str, settings: HMACSettings | None) -> Scheme:
    if name == "hmac":
        return _generic(settings or {})
    if settings is not None:
        raise SigningError(f"hmac is for the scheme hmac; {name} needs no settings")
    if name not in SCHEMES:
        raise SigningError(f"the scheme {name[:40]!r} is unknown; use one of {', '.join(SCHEME_NAMES)}")
    return SCHEMES[name]


def _generic(settings: HMACSettings) -> Scheme:
    header = settings.get("header")
    if not header:
        raise SigningError("the scheme hmac needs settings: name the header that carries the signature")
    template = settings.get("template") or "{body}"
    unknown = set(re.findall(r"\{.*?\}", template)) - _PLACEHOLDERS
    if unknown or "{body}" not in template:
        raise SigningError(
            f"the template {template[:80]!r} must have {{body}}, and may have {', '.join(sorted(_PLACEHOLDERS))}"
        )
    id_header = settings.get("id_header") or ""
    rule = Rule(
        header,
        template,
        prefix=settings.get("prefix") or "",
        digest=settings.get("digest") or "sha256",
        encoding=settings.get("encoding") or "hex",
        stamp_header=settings.get("timestamp_header") or "",
        id_header=id_header if "{id}" in template else "",
    )
    for mark, given in (("{timestamp}", rule.stamp_header), ("{id}", rule.id_header)):
        if mark in template and not given:
            raise SigningError(f"the template has {mark}: name the header that carries it")
    return Scheme((rule,), id_header=id_header)


def _check_body_time(body: bytes, member: str) -> None:
    try:
        loaded: Mapping[str, object] = json.loads(body)
        at = loaded[member]
    except (ValueError, TypeError, KeyError, RecursionError):
        at = None
    if not isinstance(at, int):
        raise SigningError(f"the scheme wants the time in the body: add {member!r} in milliseconds")
