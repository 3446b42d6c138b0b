"""Checks a callback as a server sends it. A web framework hands over the same three
things: the secret, the headers and the body as it came."""

from __future__ import annotations

import json
from typing import Mapping

import lineshaft

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def handle(headers: Mapping[str, str], body: bytes) -> int:
    """The status to answer."""
    try:
        event = lineshaft.callbacks.verify(SECRET, headers, body)
    except lineshaft.callbacks.VerificationError as error:
        print("refused:", error)
        return 400
    print(event.id, event.data.run_id, "is", event.data.state)
    return 204


def main() -> None:
    data = {"event_id": "evt_1", "sequence": 9, "run_id": "run_1", "state": "SUCCEEDED", "title": "Say hello"}
    body = json.dumps({"type": "run.state_changed", "timestamp": "2026-01-01T00:00:00Z", "data": data}).encode()
    headers = lineshaft.webhooks.sign("standard_webhooks", SECRET, body, id="evt_1")
    print(handle(headers, body))
    print(handle(headers, body.replace(b"SUCCEEDED", b"FAILED")))


if __name__ == "__main__":
    main()
