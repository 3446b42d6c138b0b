"""Starts a run and shows what it does, as it does it."""

from __future__ import annotations

import lineshaft


def main() -> None:
    with lineshaft.Lineshaft() as client:
        started = client.runs.create(
            prompt="Count to three",
            config={"harness": {"type": "command", "command": ["sh", "-c", "for i in 1 2 3; do echo $i; done"]}},
        )
        for event in client.runs.stream(started.run_id):
            if event.type == "state":
                print(f"-- {event.data['to']}")
            elif event.type == "output":
                print(event.data["text"], end="")


if __name__ == "__main__":
    main()
