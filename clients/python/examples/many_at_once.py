"""Starts several runs at once and waits for all of them."""

from __future__ import annotations

import asyncio

import lineshaft


async def start_and_wait(client: lineshaft.AsyncLineshaft, number: int) -> str:
    started = await client.runs.create(
        prompt=f"Number {number}",
        config={"harness": {"type": "command", "command": ["true"]}},
        metadata={"example": "many_at_once"},
    )
    run = await client.runs.wait(started.run_id, timeout=120)
    return f"{run.title}: {run.state}"


async def main() -> None:
    async with lineshaft.AsyncLineshaft() as client:
        for line in await asyncio.gather(*(start_and_wait(client, number) for number in range(4))):
            print(line)
        async for run in client.runs.list(metadata={"example": "many_at_once"}, limit=2):
            print(run.run_id, run.state)


if __name__ == "__main__":
    asyncio.run(main())
