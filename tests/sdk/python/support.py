"""What the tests share: clients, the failing proxy, and ways to wait for a run."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any, Iterator

import httpx
from oz_agent_sdk import OzAPI

PATIENCE = 60.0
"""Seconds that anything may take before a test gives up on it."""

UNKNOWN = "00000000-0000-7000-8000-000000000000"


def required(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise RuntimeError(f"{name} is not set; start these tests with tests/sdk/run")
    return value


SERVER = required("LINESHAFT_SDK_URL")
LIMITED_SERVER = required("LINESHAFT_SDK_LIMITED_URL")
ADMIN_KEY = required("LINESHAFT_SDK_KEY")


def options(url: str = SERVER, **more: Any) -> dict[str, Any]:
    """The only two things that a user of the published client changes."""
    return {"base_url": f"{url}/api/v1", "api_key": ADMIN_KEY, **more}


@functools.lru_cache(maxsize=None)
def client(url: str = SERVER, **more: Any) -> OzAPI:
    """One client for each set of options: making one reads all certificates anew."""
    return OzAPI(**options(url, **more))


def unique(word: str) -> str:
    return f"{word}-{uuid.uuid4()}"


def shell(*lines: str) -> str:
    """A prompt that the shell harness executes."""
    return "\n".join(["Please run this:", "```sh", *lines, "```"])


def parked(name: str) -> dict[str, Any]:
    """A configuration under which a run stays queued: this worker never comes."""
    return {"name": name, "worker_host": "never-connected"}


def stream(run_id: str) -> Iterator[dict[str, Any]]:
    """The run's events, live; the server ends the stream when the run has ended."""
    headers = {"authorization": f"Bearer {ADMIN_KEY}", "accept": "text/event-stream"}
    with httpx.stream("GET", f"{SERVER}/api/v1/agent/runs/{run_id}/events", headers=headers, timeout=PATIENCE) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line[len("data: ") :])


def output(events: list[dict[str, Any]], name: str = "stdout") -> str:
    return "".join(e["data"]["text"] for e in events if e["type"] == "output" and e["data"]["stream"] == name)


def ended(run_id: str) -> Any:
    """The run as it is once it has ended."""
    for _ in stream(run_id):
        pass
    return client().agent.runs.retrieve(run_id)


def key_for(role: str, url: str = SERVER) -> str:
    """A key of another role, made with the client's call for undocumented routes."""
    made = client(url).post("/apikeys", cast_to=object, body={"name": unique(role), "role": role})
    return made["key"]  # type: ignore[index]


class Proxy:
    """The failing proxy of this folder, as a process of its own."""

    def __init__(self) -> None:
        script = Path(__file__).resolve().parent.parent / "proxy.mjs"
        self._process = subprocess.Popen(["node", str(script), SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(timeout=PATIENCE) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()

    def client(self, *faults: dict[str, Any], **more: Any) -> OzAPI:
        """A client behind the proxy, which forgets what was before."""
        httpx.post(f"{self.url}/__faults", json=list(faults)).raise_for_status()
        return client(self.url, **more)

    @property
    def seen(self) -> list[dict[str, Any]]:
        return httpx.get(f"{self.url}/__seen").json()
