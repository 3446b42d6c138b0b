"""Fixtures: a factory whose webhook has had a delivery."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from support import MODES, api, shell, unique


def pytest_report_header() -> str:
    return f"mcp {version('mcp')}"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def world() -> dict[str, Any]:
    factory = api("POST", "/factory", {"name": unique("Shop"), "alias": unique("shop")})
    webhook = api("POST", f"/factory/{factory['uid']}/webhooks", {"name": "ci"})
    trigger = {"provider": "webhook", "event": "received", "filter": {"webhooks": ["ci"], "payload": {"status": ["broken"]}}}
    automation = api(
        "POST", f"/factory/{factory['uid']}/automations", {"name": "fix", "prompt": shell("echo fixed"), "triggers": [trigger]}
    )
    delivered = api("POST", "", {"status": "broken", "number": 1}, url=webhook["ingress_url"], key=webhook["secret"])
    return {"factory": factory, "webhook": webhook, "automation": automation, "delivery": delivered["delivery_id"]}
