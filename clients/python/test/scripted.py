"""A server of a few lines on the loopback, for what a mock of httpx cannot show:
connections that are cut, hang or must be freed."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Generator, Mapping

import httpx

import lineshaft
from lineshaft._retry import Backoff

KEY = "ls_0123456789abcdef"

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One connection; what it answers is told by the test."""

    protocol_version = "HTTP/1.1"
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle_one(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.body = self.rfile.read(length)
        self.server.requests.append(self)
        self.server.answer(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    def reply(self, status: int, body: Any = None, headers: Mapping[str, str] | None = None) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def stream(self) -> None:
        """Begins a stream of events, which ends with the connection."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, sequence: int, kind: str = "output", **data: Any) -> None:
        told = {"id": f"e{sequence}", "sequence": sequence, "type": kind, "time": "2026-01-01T00:00:00Z", "data": data}
        self.wfile.write(f"id: {sequence}\nevent: {kind}\ndata: {json.dumps(told)}\n\n".encode())

    def until_gone(self) -> None:
        """Waits for the client to close its connection."""
        self.connection.settimeout(20)
        try:
            while self.connection.recv(1024):
                pass
        except OSError:
            return
        self.server.gone.set()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that answers as it is told."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.requests: list[Handler] = []
        self.gone = threading.Event()
        """Set when a client has closed a connection that was waited on."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that go away are what is tested


@contextmanager
def serving(answer: Answer) -> Generator[Server, None, None]:
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def client(url: str, **changes: Any) -> lineshaft.Lineshaft:
    """A client that does not pause."""
    made = lineshaft.Lineshaft(base_url=url, api_key=KEY, **changes)
    hurried(made)
    return made


def async_client(url: str, **changes: Any) -> lineshaft.AsyncLineshaft:
    made = lineshaft.AsyncLineshaft(base_url=url, api_key=KEY, **changes)
    hurried(made)
    return made


def hurried(made: lineshaft.Lineshaft | lineshaft.AsyncLineshaft) -> None:
    transport = made._transport
    transport.settings = transport.settings.changed(backoff=Backoff(first=0.001, longest=0.005))


def mocked(handler: Callable[[httpx.Request], httpx.Response], **changes: Any) -> lineshaft.Lineshaft:
    """A client whose requests go to a function. Pauses are noted in `client.pauses`, not waited for."""
    http = httpx.Client(transport=httpx.MockTransport(handler))
    made = lineshaft.Lineshaft(base_url="http://lineshaft.test", api_key=KEY, http_client=http, **changes)
    pauses: list[float] = []
    made._transport.sleep = pauses.append
    made.pauses = pauses  # type: ignore[attr-defined]
    return made
