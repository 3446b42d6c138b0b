"""The text that a signature covers."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from .keys import SigningError


@dataclass(frozen=True)
class Delivery:
    """What may be in the signed text."""

    body: bytes
    timestamp: str
    id: str
    method: str
    url: str

    def part(self, name: str) -> bytes:
        """The value of a placeholder."""
        if name == "body":
            return self.body
        if name == "form":
            return form_text(self.body)
        if name == "hashed_url":
            return hashed_url(self._url().decode(), self.body)
        if name == "url":
            return self._url()
        return {"timestamp": self.timestamp, "id": self.id, "method": self.method}[name].encode()

    def _url(self) -> bytes:
        if not self.url:
            raise SigningError("this scheme signs the address, too: give url as it was entered at the sender")
        return self.url.encode()


def message(template: str, delivery: Delivery) -> bytes:
    """The signed text, with every placeholder filled in."""
    parts = re.split(r"\{(\w+)\}", template)
    return b"".join(delivery.part(part) if at % 2 else part.encode() for at, part in enumerate(parts))


def check_id(template: str, delivery_id: str) -> None:
    """Refuses an id that could be moved over its borders in the signed text."""
    found = re.search(r"(.?)\{id\}(.?)", template)
    borders = "".join(found.groups()).replace("{", "").replace("}", "") if found else ""
    printable = all(" " <= c <= "~" for c in delivery_id)
    if not delivery_id or len(delivery_id) > 256 or not printable or any(c in delivery_id for c in borders):
        raise SigningError(f"the scheme needs an id of at most 256 printable characters without any of {borders!r}")


def form_text(body: bytes) -> bytes:
    """Names and values of a form in order, without anything between them. A value that
    a name has twice counts once."""
    form: set[tuple[bytes, bytes]] = set()
    for member in body.split(b"&"):
        name, _, value = member.partition(b"=")
        if member:
            form.add((_unescaped(name), _unescaped(value)))
    return b"".join(name + value for name, value in sorted(form))


def _unescaped(text: bytes) -> bytes:
    """Bytes and not text: a form need not be UTF-8."""
    return unquote_to_bytes(text.replace(b"+", b" "))


def hashed_url(url: str, body: bytes) -> bytes:
    """The address with the body's hash, which may be in it already."""
    member = f"bodySHA256={hashlib.sha256(body).hexdigest()}"
    if member in url:
        return url.encode()
    return f"{url}{'&' if '?' in url else '?'}{member}".encode()
