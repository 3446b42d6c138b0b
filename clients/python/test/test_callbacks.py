"""C: callbacks are believed only when they are authentic."""

from __future__ import annotations

import base64
import json
from email.message import Message
from typing import Any

import httpx
import pytest

import lineshaft
from lineshaft import callbacks, webhooks

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()
NOW = 1_800_000_000

BODY = json.dumps(
    {
        "type": "run.state_changed",
        "timestamp": "2027-01-15T08:00:00Z",
        "data": {
            "event_id": "evt_1",
            "sequence": 7,
            "run_id": "r1",
            "state": "SUCCEEDED",
            "previous_state": "INPROGRESS",
            "title": "Say hello",
            "created_at": "2027-01-15T07:59:00Z",
            "url": "https://lineshaft.example/runs/r1",
            "news": {"kept": True},
        },
    }
).encode()


def signed(secret: str = SECRET, body: bytes = BODY, at: float = NOW) -> dict[str, str]:
    return webhooks.sign("standard_webhooks", secret, body, id="evt_1", timestamp=at)


def verify(headers: Any, body: bytes = BODY, secret: Any = SECRET) -> callbacks.CallbackEvent:
    return callbacks.verify(secret, headers, body, now=NOW)


def test_c_a_callback_is_read() -> None:
    event = verify(signed())
    assert (event.id, event.type) == ("evt_1", "run.state_changed")
    assert (event.data.run_id, event.data.state, event.data.sequence) == ("r1", "SUCCEEDED", 7)
    assert event.data.created_at.year == 2027
    assert event.data.model_extra == {"news": {"kept": True}}


def test_c_headers_may_come_in_any_form() -> None:
    headers = signed()
    assert verify(httpx.Headers(headers)).id == "evt_1"
    assert verify([(name.upper(), value) for name, value in headers.items()]).id == "evt_1"
    assert verify([(name.encode(), value.encode()) for name, value in headers.items()]).id == "evt_1"
    message = Message()  # what http.server has
    for name, value in headers.items():
        message[name] = value
    assert verify(message).id == "evt_1"
    message["Webhook-Id"] = "evt_1"
    with pytest.raises(callbacks.VerificationError, match="twice"):
        verify(message)


def test_c_unknown_states_and_types_are_kept() -> None:
    body = BODY.replace(b"SUCCEEDED", b"RESTING").replace(b"run.state_changed", b"run.napped")
    event = verify(signed(body=body), body)
    assert (event.type, event.data.state) == ("run.napped", "RESTING")


def test_c_during_a_rotation_both_secrets_count() -> None:
    headers = signed()
    headers["webhook-signature"] = f"v1a,AAAA {signed(OTHER)['webhook-signature']} {headers['webhook-signature']}"
    assert verify(headers, secret=OTHER).id == "evt_1"
    assert verify(signed(), secret=[OTHER, SECRET]).id == "evt_1"


@pytest.mark.parametrize("away", [-300, 300])
def test_c_five_minutes_are_tolerated(away: int) -> None:
    assert verify(signed(at=NOW + away)).id == "evt_1"
    further = NOW + away + (1 if away > 0 else -1)
    with pytest.raises(callbacks.VerificationError, match="old"):
        verify(signed(at=further))


def changed(**changes: str) -> dict[str, str]:
    return {**signed(), **{name.replace("_", "-"): value for name, value in changes.items()}}


@pytest.mark.parametrize(
    "headers",
    [
        signed(OTHER),
        changed(webhook_id="evt_2"),
        changed(webhook_timestamp=str(NOW + 1)),
        changed(webhook_timestamp=f"0{NOW}"),
        changed(webhook_timestamp="now"),
        changed(webhook_timestamp="1" * 400),
        changed(webhook_signature=""),
        changed(webhook_signature="v1,"),
        changed(webhook_signature="v1,é"),
        changed(webhook_signature=signed()["webhook-signature"].replace("v1,", "v2,")),
        changed(webhook_signature=signed()["webhook-signature"][3:]),
        changed(webhook_signature="v1,AAAA " * 40),
        {name: value for name, value in signed().items() if name != "webhook-id"},
        [*signed().items(), ("Webhook-Id", "evt_1")],
        changed(webhook_id="evt_\udcff"),
        changed(webhook_id="evt_\ud800"),
        changed(webhook_id="evt_\u00e9"),
        changed(webhook_timestamp="\u0661"),
        changed(webhook_signature="v1,\udcff"),
        {**signed(), "webhook-id": b"\xff"},
        {**signed(), "webhook-signature": 5},
        {**signed(), "webhook-signature": None},
        {**signed(), "webhook-signature": ["v1,"]},
        {},
    ],
)
def test_c_others_are_refused(headers: Any) -> None:
    with pytest.raises(callbacks.VerificationError):
        verify(headers)


def test_c_a_changed_body_is_refused() -> None:
    with pytest.raises(callbacks.VerificationError, match="secret"):
        verify(signed(), BODY + b" ")


def test_c_headers_of_others_do_not_matter() -> None:
    assert verify({"x-\udcff": "\udcff", "x": None, **signed()}).id == "evt_1"


def test_c_a_body_that_is_no_text_is_refused() -> None:
    with pytest.raises(callbacks.VerificationError, match="bytes"):
        callbacks.verify(SECRET, signed(), "\udcff", now=NOW)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"data": 3}', b"\xff"])
def test_c_an_authentic_body_may_be_broken(body: bytes) -> None:
    with pytest.raises(callbacks.VerificationError, match="not readable"):
        verify(signed(body=body), body)


@pytest.mark.parametrize("secret", ["", "whsec_AAAA", "whsk_" + "A" * 44, []])
def test_c_a_bad_secret_is_told(secret: Any) -> None:
    with pytest.raises(lineshaft.LineshaftError) as refused:
        verify(signed(), secret=secret)
    assert not secret or str(secret) not in str(refused.value)
