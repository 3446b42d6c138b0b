"""Bounds all that an attempt does. httpx bounds each wait for bytes, so a server that
sends one byte now and then would hold a call for as long as it likes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Callable, Generator

import httpx

_deadline: ContextVar[float | None] = ContextVar("lineshaft_deadline", default=None)


@contextmanager
def within(timeout: float | None) -> Generator[None, None, None]:
    """What this thread sends and reads has to be done within so many seconds, and
    within those of an outer one."""
    outer = _deadline.get()
    own = None if timeout is None else time.monotonic() + timeout
    token = _deadline.set(min((at for at in (outer, own) if at is not None), default=None))
    try:
        yield
    finally:
        _deadline.reset(token)


def bounded(client: httpx.Client) -> httpx.Client:
    """A client whose connections keep to within. httpx has no public place for that;
    where a version of it has another inside, waits are bounded one by one as ever."""
    transports: list[Any] = [getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()]
    for transport in transports:
        pool: Any = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if backend is not None:
            pool._network_backend = _Backend(backend)
    return client


class _Wrapped:
    """Hands on all that it does not do itself."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Backend(_Wrapped):
    """Makes connections."""

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._inner.connect_tcp(host, port, timeout=_left(timeout, httpx.ConnectTimeout), **options))

    def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._inner.connect_unix_socket(path, timeout=_left(timeout, httpx.ConnectTimeout), **options))


class _Stream(_Wrapped):
    """A connection."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, timeout=_left(timeout, httpx.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout=_left(timeout, httpx.WriteTimeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        left = _left(timeout, httpx.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname=server_hostname, timeout=left))


def _left(timeout: float | None, late: Callable[[str], Exception]) -> float | None:
    """The time for one wait, or the error that there is none left."""
    at = _deadline.get()
    if at is None:
        return timeout
    left = at - time.monotonic()
    if left <= 0:
        raise late("the time is over")
    return left if timeout is None else min(left, timeout)
