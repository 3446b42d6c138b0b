"""A call before it is sent: its path, query and body as the wire has them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Any, Iterator, Mapping, Sequence, cast
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from pydantic import BaseModel

from ._options import CallOptions, NotGiven
from ._settings import Settings, merged

EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True)
class Request:
    """One call, sent once or several times."""

    method: str
    path: str
    """Below /api/v1, with escaped segments."""
    query: Mapping[str, Any] = field(default_factory=lambda: {})
    body: Any = None
    """Sent as JSON; None sends nothing."""
    content: bytes | None = None
    """Sent as it is."""
    replay: bool = False
    """Sending it again is harmless even if the server has acted on an earlier
    attempt whose answer was lost."""
    accept: str = "application/json"
    options: CallOptions = field(default_factory=lambda: CallOptions())


@dataclass(frozen=True)
class Prepared:
    """A request with everything that its attempts share."""

    method: str
    path: str
    url: str
    headers: dict[str, str] = field(repr=False)
    content: bytes | None
    timeout: float | None
    max_retries: int
    replay: bool
    secret: bytes = field(repr=False)
    """The key, which no error may show."""


def prepare(request: Request, settings: Settings) -> Prepared:
    """Writes a request down; every attempt sends the same bytes and the same key."""
    options = request.options
    own = {"Accept": request.accept, "Authorization": f"Bearer {settings.api_key}"}
    content = request.content
    if content is not None:
        own["Content-Type"] = "application/octet-stream"
    elif request.body is not None or options.get("extra_body"):
        content = encode_body(request.body, options.get("extra_body"))
        own["Content-Type"] = "application/json"
    fresh: dict[str, str] = {}
    if request.method == "POST":
        # A key of the caller goes before a fresh one, wherever it was given: with
        # another one, the caller's own second try would start a thing twice.
        fresh["Idempotency-Key"] = uuid4().hex
        if options.get("idempotency_key"):
            own["Idempotency-Key"] = options.get("idempotency_key", "")
    headers = merged(fresh, settings.headers, own, options.get("extra_headers"))
    return Prepared(
        method=request.method,
        path=request.path,
        url=endpoint(settings.base_url, request.path, {**request.query, **options.get("extra_query", {})}),
        headers=headers,
        content=content,
        timeout=options.get("timeout", settings.timeout),
        max_retries=options.get("max_retries", settings.max_retries),
        replay=request.replay,
        secret=settings.api_key.encode(),
    )


def endpoint(base_url: str, path: str, query: Mapping[str, Any]) -> str:
    """The whole URL of a path below /api/v1."""
    parts = urlsplit(path)
    if parts.scheme or parts.netloc or parts.fragment or not path.startswith("/"):
        raise ValueError(f"the path {path[:100]!r} must start with one slash and be relative to /api/v1")
    if any(part in (".", "..") for part in parts.path.split("/")):
        raise ValueError(f"the path {path[:100]!r} must not hold . or .. as a part")
    pairs = list(query_pairs(query))
    if not pairs:
        return base_url + path
    return f"{base_url}{path}{'&' if parts.query else '?'}{urlencode(pairs)}"


def path(template: str, *ids: str | int) -> str:
    """A path with ids in it. An empty id, or one that a path would swallow, would
    address another thing."""
    for value in ids:
        if str(value) in ("", ".", ".."):
            raise ValueError(f"{value!r} is not an id, for {template}")
    return template.format(*(quote(str(value), safe="") for value in ids))


def query_pairs(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The members of a query; what is None is left out."""
    for name, value in query.items():
        if value is None or isinstance(value, NotGiven):
            continue
        if isinstance(value, Mapping):
            for key, item in cast("Mapping[str, Any]", value).items():
                yield f"{name}[{key}]", query_text(item)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for item in cast("Sequence[Any]", value):
                yield name, query_text(item)
        else:
            yield name, query_text(value)


def query_text(value: Any) -> str:
    """One value of a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return wire_time(value)
    return str(value)


def encode_body(body: Any, extra: Mapping[str, Any] | None) -> bytes:
    """A body as JSON."""
    if extra:
        body = {**cast("Mapping[str, Any]", body or {}), **extra}
    return json.dumps(body, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def fields(given: Mapping[str, Any], *, nullable: Sequence[str] = ()) -> dict[str, Any]:
    """A body of the fields that were given. None leaves a field out, but is sent as
    null for those that are nullable."""
    return {
        name: value
        for name, value in given.items()
        if not isinstance(value, NotGiven) and (value is not None or name in nullable)
    }


def wire_time(at: datetime) -> str:
    """A time as the API writes it. One without a zone is local time."""
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, datetime):
        return wire_time(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, (set, frozenset, Sequence)):
        return list(cast("Sequence[Any]", value))
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")
