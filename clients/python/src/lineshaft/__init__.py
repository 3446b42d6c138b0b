"""The client of Lineshaft, the self-hosted control plane for cloud agents.

    import lineshaft

    client = lineshaft.Lineshaft()  # LINESHAFT_URL and LINESHAFT_API_KEY
    run = client.runs.create(prompt="Fix the flaky test")
    for event in client.runs.stream(run.run_id):
        print(event.type, event.data)

AsyncLineshaft offers the same, to be awaited. `webhooks` signs what is sent to a
server, `callbacks` checks what a server sends.
"""

from __future__ import annotations

from . import callbacks, models, params, webhooks
from ._answer import Answer, RawResponse
from ._async_client import AsyncLineshaft
from ._client import Lineshaft
from ._download import AsyncDownload, Download
from ._errors import (
    APIConnectionError,
    APIError,
    APIResponseError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    ConflictError,
    InternalServerError,
    LineshaftError,
    NotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitError,
    StreamError,
    UnprocessableError,
    WaitTimeoutError,
)
from ._options import NOT_GIVEN, CallOptions, NotGiven
from ._pages import AsyncPage, AsyncPages, Page
from ._stream import AsyncEventStream, EventStream
from ._version import __version__

__all__ = [
    "NOT_GIVEN",
    "APIConnectionError",
    "APIError",
    "APIResponseError",
    "APIStatusError",
    "APITimeoutError",
    "Answer",
    "AsyncDownload",
    "AsyncEventStream",
    "AsyncLineshaft",
    "AsyncPage",
    "AsyncPages",
    "AuthenticationError",
    "BadRequestError",
    "CallOptions",
    "ConfigurationError",
    "ConflictError",
    "Download",
    "EventStream",
    "InternalServerError",
    "Lineshaft",
    "LineshaftError",
    "NotFoundError",
    "NotGiven",
    "Page",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "RateLimitError",
    "RawResponse",
    "StreamError",
    "UnprocessableError",
    "WaitTimeoutError",
    "__version__",
    "callbacks",
    "models",
    "params",
    "webhooks",
]
