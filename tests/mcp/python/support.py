"""The two generations of the official client behind one face, and calls of the API."""

from __future__ import annotations

import json
import os
import urllib.request
import uuid
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Callable

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

try:  # since 2.0, for the protocol of 2026-07-28
    import httpx2 as httpx
    from mcp import Client
except ImportError:
    import httpx

    Client = None

SERVER = os.environ["LINESHAFT_MCP_URL"]
KEY = os.environ["LINESHAFT_MCP_KEY"]

# How a client may agree on a protocol with the server, and on which.
MODES = {"handshake": "2025-11-25"} if Client is None else {"auto": "2026-07-28", "legacy": "2025-11-25"}

unique: Callable[[str], str] = lambda word: f"{word}-{uuid.uuid4()}"


def shell(*lines: str) -> str:
    """A prompt that the shell harness executes."""
    return "\n".join(["Please run this:", "```sh", *lines, "```"])


class Tools:
    """A connected client; answers are as they were on the wire."""

    def __init__(self, client: Any, version: str) -> None:
        self.client = client
        self.version = version
        self.called: set[str] = set()

    async def list(self) -> list[dict[str, Any]]:
        found = await self.client.list_tools()
        return [tool.model_dump(by_alias=True, mode="json") for tool in found.tools]

    async def ask(self, name: str, arguments: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
        result = await self.client.call_tool(name, arguments or {}, **settings)
        return result.model_dump(by_alias=True, mode="json")

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
        """Calls a tool that must succeed. The client holds the answer against the tool's schema."""
        result = await self.ask(name, arguments, **settings)
        assert not result["isError"], result["content"]
        assert result["content"][0]["text"]
        self.called.add(name)
        return result["structuredContent"]


@asynccontextmanager
async def connect(mode: str, key: str = KEY) -> AsyncIterator[Tools]:
    """The published client, with nothing set but the address and the key."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(30, read=300)) as http:
        transport = streamable_http_client(f"{SERVER}/api/v1/mcp", http_client=http)
        if Client is not None:
            async with Client(transport, mode=mode) as client:
                yield Tools(client, client.protocol_version)
            return
        async with transport as (reading, writing, _), ClientSession(reading, writing) as session:
            begun = await session.initialize()
            yield Tools(session, str(begun.protocolVersion))


def api(method: str, path: str, body: Any = None, *, url: str = "", key: str = KEY) -> Any:
    """A call of the API beside the tools."""
    request = urllib.request.Request(
        url or f"{SERVER}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None
