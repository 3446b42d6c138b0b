"""Fixtures, and the tests that a version of the client is too old for."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Iterator

import oz_agent_sdk
import pytest
from support import Proxy, client, parked, unique

RELEASE = tuple(int(part) for part in oz_agent_sdk.__version__.split(".")[:2])

# Not skipped but not collected: the calls are not in that release at all.
collect_ignore = [] if RELEASE >= (0, 15) else ["test_since_0_15.py"]

TOTAL = int(os.environ.get("LINESHAFT_SDK_RUNS") or 1000)
CANCELLED = 20


def pytest_report_header() -> str:
    return f"oz-agent-sdk {oz_agent_sdk.__version__}"


@pytest.fixture(scope="session")
def proxy() -> Iterator[Proxy]:
    it = Proxy()
    yield it
    it.close()


@dataclass
class Many:
    """Many runs under one name, of which the first few are cancelled."""

    name: str
    ids: list[str]
    titles: list[str]
    cancelled: int


@pytest.fixture(scope="session")
def many() -> Many:
    name = unique("many")
    titles = [f"Item {index:04}" for index in range(TOTAL)]
    agent = client().agent
    with ThreadPoolExecutor(16) as pool:

        def start(index: int) -> str:
            metadata = {"batch": name, "third": str(index % 3)}
            return agent.run(
                prompt=f"Number {index}", title=titles[index], config=parked(name), extra_body={"metadata": metadata}
            ).run_id

        ids = list(pool.map(start, range(TOTAL)))
        list(pool.map(agent.runs.cancel, ids[:CANCELLED]))
    return Many(name, ids, titles, CANCELLED)
