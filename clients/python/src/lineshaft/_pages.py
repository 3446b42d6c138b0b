"""Lists that come in pages. To go through a page is to go through all that follow."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, AsyncIterator, Awaitable, Callable, Generator, Generic, Iterator, List, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ._answer import Answer
from ._async_transport import AsyncTransport
from ._errors import APIResponseError
from ._request import Request
from ._transport import Transport

T = TypeVar("T")


class _BasePage(Generic[T]):
    items: list[T]
    """What is on this page. A page may be empty and still have a next one."""
    next_cursor: str
    """Where the next page begins; empty on the last one."""

    def __init__(
        self, request: Request, member: str, kind: type[T], answer: Answer, seen: frozenset[str] = frozenset()
    ) -> None:
        self._request = request
        self._seen = seen
        self._member = member
        self._kind = kind
        body = answer.json()
        found: Any = cast("dict[str, Any]", body).get(member) if isinstance(body, dict) else None
        try:
            self.items = _adapter(kind).validate_python(found or [])
        except ValidationError as error:
            raise answer.unreadable(error) from error
        self.next_cursor = _next_cursor(body)

    @property
    def has_next_page(self) -> bool:
        return self.next_cursor != ""

    def _following(self) -> Request:
        if not self.has_next_page:
            raise ValueError("this is the last page: look at has_next_page first")
        if self.next_cursor in self._seen or self.next_cursor == self._request.query.get("cursor"):
            raise APIResponseError(
                "the server answered the same cursor again: report this as a bug of the server",
                method=self._request.method,
                path=self._request.path,
            )
        return replace(self._request, query={**self._request.query, "cursor": self.next_cursor})

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.items)} {self._member}, has_next_page={self.has_next_page}>"


class Page(_BasePage[T]):
    """One page of a list; a loop over it fetches the next ones as it goes."""

    def __init__(
        self,
        transport: Transport,
        request: Request,
        member: str,
        kind: type[T],
        answer: Answer,
        seen: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(request, member, kind, answer, seen)
        self._transport = transport

    def next_page(self) -> Page[T]:
        """The page after this one."""
        request = self._following()
        answer = self._transport.send(request)
        return Page(self._transport, request, self._member, self._kind, answer, self._seen | {self.next_cursor})

    def pages(self) -> Iterator[Page[T]]:
        """This page and all that follow."""
        page = self
        while True:
            yield page
            if not page.has_next_page:
                return
            page = page.next_page()

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items


class AsyncPage(_BasePage[T]):
    """One page of a list; `async for` over it fetches the next ones as it goes."""

    def __init__(
        self,
        transport: AsyncTransport,
        request: Request,
        member: str,
        kind: type[T],
        answer: Answer,
        seen: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(request, member, kind, answer, seen)
        self._transport = transport

    async def next_page(self) -> AsyncPage[T]:
        """The page after this one."""
        request = self._following()
        answer = await self._transport.send(request)
        return AsyncPage(self._transport, request, self._member, self._kind, answer, self._seen | {self.next_cursor})

    async def pages(self) -> AsyncIterator[AsyncPage[T]]:
        """This page and all that follow."""
        page = self
        while True:
            yield page
            if not page.has_next_page:
                return
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item


class AsyncPages(Generic[T]):
    """A list that was not asked for yet: await it for its first page, or go through
    all of it with `async for`."""

    def __init__(self, first: Callable[[], Awaitable[AsyncPage[T]]]) -> None:
        self._first = first

    def __await__(self) -> Generator[Any, Any, AsyncPage[T]]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for item in await self:
            yield item


@lru_cache(maxsize=128)
def _adapter(kind: Any) -> TypeAdapter[List[Any]]:
    return TypeAdapter(cast(Any, List)[kind])


def _next_cursor(body: Any) -> str:
    info: Any = cast("dict[str, Any]", body).get("page_info") if isinstance(body, dict) else None
    if not isinstance(info, dict):
        return ""
    told = cast("dict[str, Any]", info)
    return str(told.get("next_cursor") or "") if told.get("has_next_page") else ""
