"""Where a client calls, and how."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any, Mapping
from urllib.parse import urlsplit

from ._errors import ConfigurationError
from ._retry import Backoff
from ._version import __version__

API_PREFIX = "/api/v1"

ENV_URL = "LINESHAFT_URL"
ENV_KEY = "LINESHAFT_API_KEY"


@dataclass(frozen=True)
class Settings:
    """The settings of one client; times are in seconds."""

    base_url: str
    api_key: str = field(repr=False)
    timeout: float | None = 60.0
    max_retries: int = 2
    stream_retries: int = 10
    stream_idle_timeout: float = 60.0
    backoff: Backoff = field(default_factory=Backoff)
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"User-Agent": f"lineshaft-python/{__version__}"}, repr=False
    )
    max_answer_bytes: int = 256 << 20

    def changed(self, **changes: Any) -> Settings:
        """A copy with some settings changed; headers are added to those there are."""
        headers = changes.pop("headers", None)
        if headers:
            changes["headers"] = merged(self.headers, headers)
        return replace(self, **changes)


def merged(*layers: Mapping[str, str] | None) -> dict[str, str]:
    """Headers of several layers, the later before the earlier; each name once, in
    whatever case it was written."""
    found: dict[str, tuple[str, str]] = {}
    for layer in layers:
        for name, value in (layer or {}).items():
            found[name.lower()] = (name, value)
    return dict(found.values())


def make_settings(base_url: str | None, api_key: str | None) -> Settings:
    """Settings from arguments or else from the environment."""
    base_url = base_url if base_url is not None else os.environ.get(ENV_URL, "")
    api_key = api_key if api_key is not None else os.environ.get(ENV_KEY, "")
    return Settings(base_url=check_url(base_url), api_key=check_key(api_key))


def check_url(text: str) -> str:
    """The address with the path of the API, or why it is none."""
    if not text:
        raise ConfigurationError(f"the server address is missing: give base_url or set {ENV_URL}")
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError:
        url, host = urlsplit(""), None
    if url.scheme not in ("http", "https") or not host:
        raise ConfigurationError(
            f"the server address {text[:100]!r} is not an http or https URL such as http://127.0.0.1:8484"
        )
    if url.username is not None or url.password is not None:
        raise ConfigurationError("the server address holds a user name or password: give the API key by itself instead")
    if url.query or url.fragment or "?" in text or "#" in text:
        raise ConfigurationError("the server address holds a query or a fragment: leave out everything from ? or # on")
    path = url.path.rstrip("/")
    if not path.endswith(API_PREFIX):
        path += API_PREFIX
    return f"{url.scheme}://{url.netloc}{path}"


def check_key(key: str) -> str:
    """The key, or why it is none, without saying what it is."""
    if not key:
        raise ConfigurationError(
            f"the API key is missing: give api_key or set {ENV_KEY}; `lineshaft apikey create` makes one"
        )
    if any(not "!" <= character <= "~" for character in key):
        raise ConfigurationError("the API key holds a space or another character that no key has: copy it again")
    return key
