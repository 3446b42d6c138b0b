"""Listing over many runs; this client pages by itself."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timezone
from typing import Any

import pytest
from conftest import Many
from oz_agent_sdk import AsyncOzAPI, BadRequestError
from oz_agent_sdk.types.agent import RunItem
from support import client, options, unique


def every(**query: Any) -> list[RunItem]:
    return list(client().agent.runs.list(**query))


def ids_of(runs: list[RunItem]) -> list[str]:
    return [run.run_id for run in runs]


def test_h8_many_runs_come_once_each_newest_change_first(many: Many) -> None:
    found = every(name=many.name, limit=len(many.ids) // 10)
    assert sorted(ids_of(found)) == sorted(many.ids)
    stamps = [run.updated_at for run in found]
    assert stamps == sorted(stamps, reverse=True)


def test_h8_the_asynchronous_client_pages_too(many: Many) -> None:
    async def collect() -> list[RunItem]:
        async with AsyncOzAPI(**options()) as it:
            return [run async for run in it.agent.runs.list(name=many.name, limit=200)]

    assert sorted(ids_of(asyncio.run(collect()))) == sorted(many.ids)


def test_h8_pages_by_hand(many: Many) -> None:
    part = len(many.ids) * 3 // 10
    first = client().agent.runs.list(name=many.name, limit=part)
    assert len(first.runs) == part
    assert first.has_next_page()
    second = first.get_next_page()
    assert len(second.runs) == part
    assert not set(ids_of(first.runs)) & set(ids_of(second.runs))


def test_h8_the_page_size_is_20_and_500_at_most(many: Many) -> None:
    assert len(client().agent.runs.list(name=many.name).runs) == 20
    assert len(client().agent.runs.list(name=many.name, limit=500).runs) == min(500, len(many.ids))


def test_every_listed_run_fits_the_model_strictly(many: Many) -> None:
    raw = client().agent.runs.with_raw_response.list(name=many.name, limit=500)
    page = json.loads(raw.http_response.content)
    assert len(page["runs"]) == min(500, len(many.ids))
    for run in page["runs"]:
        RunItem.model_validate_json(json.dumps(run), strict=True)
    assert len(list(client(_strict_response_validation=True).agent.runs.list(name=many.name, limit=500))) == len(many.ids)


def test_r4_state_can_be_given_several_times(many: Many) -> None:
    def count(*states: Any) -> int:
        return len(every(name=many.name, state=list(states), limit=500))

    total = len(many.ids)
    assert count("CANCELLED") == many.cancelled
    assert count("QUEUED") == total - many.cancelled
    assert count("QUEUED", "CANCELLED") == total
    assert count("SUCCEEDED", "FAILED") == 0


def test_r4_name_source_model_creator_location(many: Many) -> None:
    total = len(many.ids)
    assert every(name=unique("nobody")) == []
    assert len(every(name=many.name, source="API", limit=500)) == total
    assert every(name=many.name, source="SLACK") == []
    assert every(name=many.name, model_id="no-such-model") == []
    assert len(every(name=many.name, execution_location="REMOTE", limit=500)) == total
    creator = client().agent.runs.retrieve(many.ids[0]).creator
    assert creator is not None and creator.uid is not None
    assert len(every(name=many.name, creator=creator.uid, limit=500)) == total
    assert every(name=many.name, creator="nobody") == []


def test_r4_created_after_is_inclusive_created_before_is_not(many: Many) -> None:
    found = every(name=many.name, sort_by="created_at", sort_order="asc", limit=500)
    edge = found[len(found) * 7 // 10].created_at
    since = [run.run_id for run in found if run.created_at >= edge]
    assert sorted(ids_of(every(name=many.name, created_after=edge, limit=200))) == sorted(since)
    assert len(every(name=many.name, created_before=edge, limit=200)) == len(found) - len(since)
    assert every(name=many.name, updated_after=datetime(2999, 1, 1, tzinfo=timezone.utc)) == []


def test_r4_sort_by_title_and_creation_both_ways(many: Many) -> None:
    def titles(**order: Any) -> list[str]:
        return [run.title for run in every(name=many.name, limit=250, **order)]

    assert titles(sort_by="title", sort_order="asc") == many.titles
    assert titles(sort_by="title", sort_order="desc") == many.titles[::-1]
    created = [run.created_at for run in every(name=many.name, sort_by="created_at", sort_order="asc", limit=500)]
    assert created == sorted(created)


def test_r4_q_finds_a_run_by_its_id(many: Many) -> None:
    assert ids_of(every(q=many.ids[7])) == [many.ids[7]]


def test_h8_a_cursor_belongs_to_its_filters(many: Many) -> None:
    page = client().agent.runs.list(name=many.name, limit=10)
    assert page.page_info is not None and page.page_info.next_cursor is not None
    with pytest.raises(BadRequestError):
        client().agent.runs.list(name="another", limit=10, cursor=page.page_info.next_cursor)
    with pytest.raises(BadRequestError):
        client().agent.runs.list(name=many.name, limit=10, cursor="nonsense")
