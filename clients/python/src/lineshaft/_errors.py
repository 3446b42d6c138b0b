"""What can go wrong. Every error of this package is a LineshaftError."""

from __future__ import annotations

from typing import Any, Mapping

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIResponseError",
    "APIStatusError",
    "APITimeoutError",
    "AuthenticationError",
    "BadRequestError",
    "ConfigurationError",
    "ConflictError",
    "InternalServerError",
    "LineshaftError",
    "NotFoundError",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "RateLimitError",
    "StreamError",
    "UnprocessableError",
    "WaitTimeoutError",
    "status_error",
]


class LineshaftError(Exception):
    """The root of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes as they are: their class cannot be called
        with the text alone."""
        return _remade, (type(self), self.args), self.__dict__


class ConfigurationError(LineshaftError, ValueError):
    """The client cannot be made like this; nothing was sent."""


class APIError(LineshaftError):
    """A call that did not succeed."""

    method: str
    path: str

    def __init__(self, message: str, *, method: str, path: str) -> None:
        super().__init__(f"{method} {path}: {message}")
        self.method = method
        self.path = path


class APIConnectionError(APIError):
    """The call got no whole answer."""

    unsent: bool
    """No connection came up: the server cannot have acted."""
    permanent: bool
    """Trying again cannot help, as with a wrong certificate."""

    def __init__(self, message: str, *, method: str, path: str, unsent: bool = False, permanent: bool = False) -> None:
        super().__init__(message, method=method, path=path)
        self.unsent = unsent
        self.permanent = permanent


class APITimeoutError(APIConnectionError, TimeoutError):
    """The answer did not come in time."""


class APIResponseError(APIError):
    """The server answered something that is not what the API promises."""


class StreamError(APIError):
    """A stream of events could not be followed any further."""

    gave_up: bool
    """Too many connections in a row brought nothing; the cause tells why, if known."""

    def __init__(self, message: str, *, method: str, path: str, gave_up: bool = False) -> None:
        super().__init__(message, method=method, path=path)
        self.gave_up = gave_up


class WaitTimeoutError(LineshaftError, TimeoutError):
    """The run had not ended when the time was over."""

    def __init__(self, run_id: str, timeout: float, state: str | None) -> None:
        super().__init__(f"run {run_id} has not ended after {timeout:g} s; last seen {state or 'never'}")
        self.run_id = run_id
        self.state = state


class APIStatusError(APIError):
    """The server said no. Catch a subclass to handle one status."""

    status_code: int
    code: str
    """The kind of error, such as "resource_not_found"; empty when something else
    than a Lineshaft server answered."""
    title: str
    detail: str
    """Why, in this case."""
    type: str
    """The address of a page that explains the error."""
    instance: str
    request_id: str
    """Finds the call in the server's log, like trace_id."""
    trace_id: str
    problems: list[dict[str, Any]]
    """The mistakes in the files of a definition."""
    retryable: bool
    """What the server says: the same call may succeed later."""
    retry_after: float | None
    """How many seconds the server asks to wait; None when it did not say."""
    should_retry: bool | None
    attempts: int
    """How often the call was sent."""
    maybe_done: bool
    """The server may have acted on an attempt before this answer."""
    headers: Mapping[str, str]
    body: bytes

    def __init__(
        self,
        *,
        method: str,
        path: str,
        status_code: int,
        title: str,
        problem: Mapping[str, Any],
        headers: Mapping[str, str],
        body: bytes,
        retry_after: float | None = None,
        should_retry: bool | None = None,
    ) -> None:
        self.status_code = status_code
        self.type = _text(problem, "type")
        self.code = _text(problem, "code") or _code_of(self.type)
        self.title = _text(problem, "title") or title
        self.detail = _text(problem, "detail")
        self.instance = _text(problem, "instance")
        self.trace_id = _text(problem, "trace_id")
        self.retryable = problem.get("retryable") is True
        problems = problem.get("problems")
        self.problems = problems if isinstance(problems, list) else []
        self.request_id = headers.get("x-request-id", "")
        self.retry_after = retry_after
        self.should_retry = should_retry
        self.attempts = 1
        self.maybe_done = False
        self.headers = headers
        self.body = body
        super().__init__(self._message(), method=method, path=path)

    def _message(self) -> str:
        text = f"{self.status_code} {self.code}".rstrip()
        reason = self._reason()
        if reason:
            text += f": {reason}"
        if self.request_id:
            text += f" (request {self.request_id})"
        return text

    def _reason(self) -> str:
        return self.detail or self.title


class BadRequestError(APIStatusError):
    """400: the server did not understand the request."""


class AuthenticationError(APIStatusError):
    """401: the key is missing, wrong, expired or revoked."""

    def _reason(self) -> str:
        advice = (
            "the server does not accept the API key of api_key or LINESHAFT_API_KEY: `lineshaft apikey create` makes "
            "a new one; the first one of a server is in the file admin.key of its data directory"
        )
        # The server's own detail is for those who write headers by hand; that of a
        # proxy tells what it wants.
        told = "" if self.code == "authentication_required" else super()._reason()
        return f"{told}; {advice}" if told else advice


class PermissionDeniedError(APIStatusError):
    """403: the key is good, but not for this."""


class NotFoundError(APIStatusError):
    """404: there is no such thing, or not for this key."""


class ConflictError(APIStatusError):
    """409: the thing's state forbids it."""


class PayloadTooLargeError(APIStatusError):
    """413: the body is over the server's limit."""


class UnprocessableError(APIStatusError):
    """422: the server knows the field or the operation but does not offer it."""


class RateLimitError(APIStatusError):
    """429: wait; see retry_after."""


class InternalServerError(APIStatusError):
    """500 and above: the server failed."""


_BY_STATUS: Mapping[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: PayloadTooLargeError,
    422: UnprocessableError,
    429: RateLimitError,
}


def status_error(status_code: int) -> type[APIStatusError]:
    """The class for a status."""
    if status_code >= 500:
        return InternalServerError
    return _BY_STATUS.get(status_code, APIStatusError)


def _remade(kind: type[LineshaftError], args: tuple[Any, ...]) -> LineshaftError:
    error = kind.__new__(kind)
    error.args = args
    return error


def _text(problem: Mapping[str, Any], name: str) -> str:
    value = problem.get(name)
    return value if isinstance(value, str) else ""


def _code_of(kind: str) -> str:
    """The code in the last part of a type, where other servers of the API have it alone."""
    kind = kind.rstrip("/")
    if kind in ("", "about:blank"):
        return ""
    return kind.rsplit("/", 1)[-1].replace("-", "_")
