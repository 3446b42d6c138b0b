"""Fixtures that several tests use."""

from __future__ import annotations

import os
from typing import Iterator

import pytest

import lineshaft


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "LINESHAFT_URL" in os.environ and "LINESHAFT_API_KEY" in os.environ:
        return
    if os.environ.get("CI"):
        raise pytest.UsageError("LINESHAFT_URL and LINESHAFT_API_KEY are not set: run tests/clients/run python")
    skip = pytest.mark.skip(reason="LINESHAFT_URL and LINESHAFT_API_KEY are not set: run tests/clients/run python")
    for item in items:
        if item.get_closest_marker("server"):
            item.add_marker(skip)


@pytest.fixture
def server() -> Iterator[lineshaft.Lineshaft]:
    """A client for the real server."""
    with lineshaft.Lineshaft() as client:
        yield client
