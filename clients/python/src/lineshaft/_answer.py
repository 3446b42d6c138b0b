"""Answers: what came back, what it means, and what it is as a type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Generic, Mapping, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError

from ._errors import APIResponseError, APIStatusError, status_error
from ._request import Prepared
from ._retry import retry_after, should_retry

T = TypeVar("T")

MAX_ERROR_BYTES = 1 << 20


@dataclass(frozen=True)
class Answer:
    """A whole answer with a good status."""

    method: str
    path: str
    status_code: int
    headers: Mapping[str, str]
    """Names are found in any case."""
    content: bytes
    attempts: int = 1
    """How often the call was sent."""

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    @property
    def request_id(self) -> str:
        """Finds the call in the server's log."""
        return self.headers.get("x-request-id", "")

    def json(self) -> Any:
        """The body as plain values."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> APIResponseError:
        """The error for a body that is not what it should be."""
        return APIResponseError(
            f"the answer is not what was expected: {_brief(error)}", method=self.method, path=self.path
        )


@dataclass(frozen=True)
class RawResponse(Answer, Generic[T]):
    """An answer as it came, with what the call returns as value."""

    value: T = cast(Any, None)  # noqa: RUF009


def parse(answer: Answer, kind: Any) -> Any:
    """The body of an answer as a type."""
    try:
        return _adapter(kind).validate_json(answer.content)
    except ValidationError as error:
        raise answer.unreadable(error) from error


def refusal(request: Prepared, response: httpx.Response, body: bytes) -> APIStatusError:
    """The error that an answer is, whatever its body is. A body that repeats the key
    loses it."""
    body = body.replace(request.secret, b"***")
    problem: Mapping[str, Any] = {}
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        if response.headers.get("content-type", "").startswith("text/plain"):
            problem = {"detail": body.decode("utf-8", "replace").strip()[:300]}
    else:
        problem = cast("dict[str, Any]", loaded) if isinstance(loaded, dict) else {}
    return status_error(response.status_code)(
        method=request.method,
        path=request.path,
        status_code=response.status_code,
        title=_phrase(response.status_code),
        problem=problem,
        headers=response.headers,
        body=body,
        retry_after=retry_after(response.headers),
        should_retry=should_retry(response.headers),
    )


@lru_cache(maxsize=512)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _brief(error: Exception) -> str:
    """What is wrong, without the values: they may be secret."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else first["msg"]
    return str(error)
