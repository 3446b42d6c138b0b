"""The client whose calls are awaited; the counterpart of _client."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Awaitable, Callable, Mapping, TypeVar

import httpx
from typing_extensions import ParamSpec, Unpack

from ._answer import RawResponse, parse
from ._async_transport import AsyncTransport
from ._client import any_request, changed, raw_response
from ._connection import certificates
from ._generated.resources import AsyncResources
from ._options import NOT_GIVEN, CallOptions, NotGiven, checked
from ._resource import captured
from ._settings import make_settings

P = ParamSpec("P")
T = TypeVar("T")


class AsyncLineshaft(AsyncResources):
    """Calls one server with one key. It may be used by many tasks of one event loop.

    Args:
      base_url: The server, with or without /api/v1; LINESHAFT_URL when absent.
      api_key: Starts with "ls_"; LINESHAFT_API_KEY when absent.
      timeout: Seconds for each attempt of a call, answer included; None waits without end.
      max_retries: How often a failed call is sent again.
      stream_retries: How many connections in a row may show no sign of life before a stream
        or a wait gives up.
      stream_idle_timeout: Seconds that a stream may be silent before it is connected anew.
      headers: Sent with every call.
      http_client: Sends the calls, for own proxies, certificates or tests.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = 60.0,
        max_retries: int = 2,
        stream_retries: int = 10,
        stream_idle_timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        settings = make_settings(base_url, api_key).changed(
            timeout=timeout,
            max_retries=max_retries,
            stream_retries=stream_retries,
            stream_idle_timeout=stream_idle_timeout,
            headers=headers,
        )
        self._own = http_client is None
        self._start(AsyncTransport(settings, http_client or httpx.AsyncClient(verify=certificates())))

    def _start(self, transport: AsyncTransport) -> None:
        self._transport = transport
        super().__init__(transport)

    @property
    def base_url(self) -> str:
        """Where calls go, with the path of the API."""
        return self._transport.settings.base_url

    def with_options(
        self,
        *,
        timeout: float | NotGiven | None = NOT_GIVEN,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncLineshaft:
        """The same client with other settings; connections are shared."""
        settings = changed(self._transport.settings, timeout, max_retries, headers)
        other = object.__new__(type(self))
        other._own = False
        other._start(AsyncTransport(settings, self._transport.http, self._transport.sleep))
        return other

    async def with_raw_response(
        self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> RawResponse[T]:
        """Calls a method of a resource and gives the answer as it came, beside what the
        method returns: `(await client.with_raw_response(client.runs.get, run_id)).headers`."""
        with captured() as answers:
            value = await method(*args, **kwargs)
        return raw_response(answers[-1:], value)

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Calls any path below /api/v1, also one that this package has no method for, and
        returns the JSON of the answer. POST and PATCH are sent again only when the
        server cannot have acted on them."""
        answer = await self._transport.send(any_request(method, path, body, query, checked(self.request, options)))
        return parse(answer, Any) if answer.content else None

    async def get(self, path: str, *, query: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]) -> Any:
        """Calls GET on any path; see request."""
        return await self.request("GET", path, query=query, **options)

    async def post(
        self, path: str, *, body: Any = None, query: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> Any:
        """Calls POST on any path; see request."""
        return await self.request("POST", path, body=body, query=query, **options)

    async def put(
        self, path: str, *, body: Any = None, query: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> Any:
        """Calls PUT on any path; see request."""
        return await self.request("PUT", path, body=body, query=query, **options)

    async def patch(
        self, path: str, *, body: Any = None, query: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> Any:
        """Calls PATCH on any path; see request."""
        return await self.request("PATCH", path, body=body, query=query, **options)

    async def delete(self, path: str, *, query: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]) -> Any:
        """Calls DELETE on any path; see request."""
        return await self.request("DELETE", path, query=query, **options)

    async def aclose(self) -> None:
        """Closes the connections, unless they are those of a given http_client."""
        if self._own:
            await self._transport.http.aclose()

    async def __aenter__(self) -> AsyncLineshaft:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} for {self.base_url}>"
