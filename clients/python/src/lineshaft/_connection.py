"""What the two transports share: failures of httpx, redirects, limits."""

from __future__ import annotations

import re
import ssl
from functools import lru_cache
from typing import Iterator, Mapping
from urllib.parse import urlsplit

import httpx

from ._errors import APIConnectionError, APIResponseError, APITimeoutError
from ._request import Prepared
from ._settings import Settings

MAX_REDIRECTS = 10

# What may be told to any server: it is about the answer, or made for the connection.
HARMLESS_HEADERS = frozenset(
    ("accept", "accept-encoding", "cache-control", "connection", "host", "last-event-id", "range", "user-agent")
)


@lru_cache(maxsize=1)
def certificates() -> ssl.SSLContext:
    """The authorities to trust. To read them takes longer than most calls, so all
    clients share them."""
    return httpx.create_ssl_context()


_UNSENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


def failure(request: Prepared, error: httpx.HTTPError | httpx.InvalidURL) -> APIConnectionError:
    """The error for a request that got no whole answer."""
    kind = APITimeoutError if isinstance(error, httpx.TimeoutException) else APIConnectionError
    unsent = isinstance(error, _UNSENT)
    server, reason = _server(request, error), str(error) or type(error).__name__
    if kind is APITimeoutError:
        message = f"no {'connection to' if unsent else 'answer from'} {server} in time"
    elif unsent:
        message = f"no connection to {server}: {reason}: check the server address and that the server is running"
    else:
        message = f"the connection to {server} broke: {reason}"
    return kind(
        message,
        method=request.method,
        path=request.path,
        unsent=unsent,
        permanent=isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL)) or _bad_certificate(error),
    )


def late(request: Prepared, timeout: float | None) -> APITimeoutError:
    """The error for an answer that was still coming when its time was over."""
    return APITimeoutError(
        f"no whole answer from {_server(request)} within {timeout or 0:g} s", method=request.method, path=request.path
    )


def unusable(
    request: Prepared, client: httpx.Client | httpx.AsyncClient, error: RuntimeError
) -> APIConnectionError | None:
    """The error for a client that can send nothing any more; None for other errors."""
    if client.is_closed:
        reason = "the client is closed: make another one"
    elif re.search(r"\b(different|event) loop\b", str(error), re.IGNORECASE):
        reason = "the client was used in another event loop before: make one for each, such as within asyncio.run"
    else:
        return None
    return APIConnectionError(reason, method=request.method, path=request.path, unsent=True, permanent=True)


def redirected(request: Prepared, response: httpx.Response, hops: int) -> httpx.Request | None:
    """The request that an answer sends us on to, if it does. The key and the caller's own
    headers, which may be as secret, go to the scheme, host and port of the server and to no
    other; httpx would let the key go from http to https, and other headers anywhere.
    Only GET is sent on: a POST would go where nobody meant it to, or become a GET, whose
    answer would look like a success of something else."""
    following = response.next_request
    if following is None:
        return None
    target = f"{following.url.scheme}://{following.url.netloc.decode('ascii', 'replace')}"
    if request.method != "GET":
        reason = f"the server redirects {request.method} to {target}: use that as the server address"
    elif hops >= MAX_REDIRECTS:
        reason = f"stopped after {MAX_REDIRECTS} redirects"
    else:
        if _origin(following.url) != _origin(httpx.URL(request.url)):
            for name in set(following.headers) - HARMLESS_HEADERS:
                del following.headers[name]
        return following
    raise APIConnectionError(reason, method=request.method, path=request.path, permanent=True)


def wire_request(client: httpx.Client | httpx.AsyncClient, request: Prepared, timeout: float | None) -> httpx.Request:
    """The request as httpx sends it."""
    return client.build_request(
        request.method,
        request.url,
        headers=request.headers,
        content=request.content,
        timeout=httpx.Timeout(timeout),
    )


def too_large(request: Prepared, settings: Settings) -> APIResponseError:
    """The error for an answer that would fill the memory."""
    return APIResponseError(
        f"the answer is larger than {settings.max_answer_bytes} bytes: ask for less with limit",
        method=request.method,
        path=request.path,
    )


def frozen(headers: httpx.Headers) -> Mapping[str, str]:
    """Headers without the connection that they came over."""
    return httpx.Headers(headers.raw)


def _server(request: Prepared, error: Exception | None = None) -> str:
    """The server that was called, which may be another after a redirect."""
    try:
        if isinstance(error, httpx.RequestError):
            return f"{error.request.url.scheme}://{error.request.url.netloc.decode('ascii', 'replace')}"
    except RuntimeError:  # it does not know its request
        pass
    url = urlsplit(request.url)
    return f"{url.scheme}://{url.netloc}"


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # a port that goes without saying is None


def _bad_certificate(error: BaseException) -> bool:
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
