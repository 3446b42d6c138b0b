"""W-9: deliveries that this package signs are those that the senders themselves sign."""

from __future__ import annotations

import base64
import hmac
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lineshaft import models, webhooks

VECTORS = Path(__file__).resolve().parents[3] / "internal" / "signature" / "testdata" / "vectors.json"
SHARED = "whsec_" + base64.b64encode(bytes(range(32))).decode()

# Other names that the vectors use, and what they cannot be used for here: the secrets
# of these are public keys, with which nobody signs.
RENAMED = {
    "svix": "standard_webhooks",
    "gitlab_signing_token": "gitlab",
    "gitlab_token": "gitlab",
    "hubspot_v3": "hubspot",
}
CHECK_ONLY = {"discord", "standard_webhooks_v1a"}
OLDER = {"hubspot_v1"}  # the sender's choice; we sign as the newest version does


def vectors() -> list[Any]:
    listed = json.loads(VECTORS.read_text(encoding="utf-8"))
    return [
        pytest.param(v, id=v["name"])
        for v in listed
        if v["expect"] == "accept" and v["scheme"] not in CHECK_ONLY | OLDER
    ]


def arguments(vector: dict[str, Any]) -> dict[str, Any]:
    headers = {name.lower(): value for name, value in vector["headers"].items()}
    found: dict[str, Any] = {"timestamp": stamp_of(headers) or vector["now"], "url": vector.get("url", "")}
    for name in ("webhook-id", "svix-id"):
        if name in headers:
            found["id"] = headers[name]
    if vector.get("delivery_id"):
        found.setdefault("id", vector["delivery_id"])
    if "content-type" in headers:
        found["content_type"] = headers["content-type"]
    return found


def stamp_of(headers: dict[str, str]) -> float | None:
    """The time at which the sender signed."""
    for name, value in headers.items():
        if name.endswith("timestamp") and value.isdigit():
            return int(value) / 1000 if len(value) > 11 else int(value)
        for item in value.split(","):
            key, _, text = item.partition("=")
            if key in ("t", "timestamp") and text.isdigit():
                return int(text)
    return None


@pytest.mark.parametrize("vector", vectors())
def test_w9_vectors(vector: dict[str, Any]) -> None:
    scheme: Any = RENAMED.get(vector["scheme"], vector["scheme"])
    signed = webhooks.sign(scheme, vector["secret"], vector["body"], **arguments(vector))
    sent = {name.lower(): value for name, value in vector["headers"].items()}
    for name, value in signed.items():
        name = name.lower()
        if vector["scheme"] == "svix":
            name = name.replace("webhook-", "svix-")
        if name in ("webhook-signature", "svix-signature"):
            assert value in sent[name].split(" ")
        elif "signature" in name or "hmac" in name or name == "x-gitlab-token" or name.endswith("timestamp"):
            if "," in sent[name]:
                assert set(value.split(",")) <= {item.strip() for item in sent[name].split(",")}
            else:
                assert value == sent[name]


def test_w9_every_scheme_of_the_api() -> None:
    assert set(webhooks.SCHEME_NAMES) == set(get_args(models.SignatureScheme))


@pytest.mark.parametrize("scheme", sorted(set(webhooks.SCHEME_NAMES) - {"discord", "hmac", "linear"}))
def test_w9_every_scheme_signs(scheme: Any) -> None:
    headers = webhooks.sign(scheme, SHARED, b"{}", url="https://example.com/hook")
    assert headers and all(value for value in headers.values())
    assert headers != webhooks.sign(scheme, SHARED, b"{ }", url="https://example.com/hook")


def private_key() -> tuple[Ed25519PrivateKey, bytes]:
    key = Ed25519PrivateKey.generate()
    return key, key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())


def test_w9_discord() -> None:
    key, raw = private_key()
    headers = webhooks.sign("discord", raw.hex(), b'{"type":0}', timestamp=1700000000)
    assert headers["X-Signature-Timestamp"] == "1700000000"
    signature = bytes.fromhex(headers["X-Signature-Ed25519"])
    key.public_key().verify(signature, b'1700000000{"type":0}')
    with pytest.raises(InvalidSignature):
        key.public_key().verify(signature, b'1700000001{"type":0}')


@pytest.mark.parametrize("with_public", [False, True])
def test_w9_standard_webhooks_private(with_public: bool) -> None:
    key, raw = private_key()
    text = base64.b64encode(raw + key.public_key().public_bytes_raw() if with_public else raw).decode()
    headers = webhooks.sign("standard_webhooks", f"whsk_{text}", b"{}", id="msg_1", timestamp=1700000000)
    version, _, signature = headers["webhook-signature"].partition(",")
    assert version == "v1a"
    key.public_key().verify(base64.b64decode(signature), b"msg_1.1700000000.{}")


def test_w9_hmac_settings() -> None:
    settings: webhooks.HMACSettings = {
        "header": "X-Sign",
        "prefix": "v1=",
        "digest": "sha512",
        "encoding": "base64",
        "template": "{id}:{timestamp}:{body}",
        "timestamp_header": "X-Time",
        "id_header": "X-Id",
    }
    headers = webhooks.sign("hmac", "secret", b"{}", id="one", timestamp=1700000000.9, hmac=settings)
    assert headers["X-Id"] == "one" and headers["X-Time"] == "1700000000"
    assert headers["X-Sign"].startswith("v1=") and len(base64.b64decode(headers["X-Sign"][3:])) == 64


@pytest.mark.parametrize(
    ("scheme", "secret", "given", "words"),
    [
        ("nope", "s", {}, "unknown"),
        ("github", "", {}, "empty"),
        ("github", " s", {}, "white space"),
        ("github", "s", {"hmac": {"header": "X"}}, "no settings"),
        ("hmac", "s", {}, "name the header"),
        ("hmac", "s", {"hmac": {"header": "X", "template": "{timestamp}.{body}"}}, "{timestamp}"),
        ("hmac", "s", {"hmac": {"header": "X", "template": "{id}.{body}"}}, "{id}"),
        ("hmac", "s", {"hmac": {"header": "X", "template": "{nonsense}{body}"}}, "{nonsense}"),
        ("hmac", "s", {"hmac": {"header": "X", "template": "{timestamp}", "timestamp_header": "T"}}, "{body}"),
        ("standard_webhooks", "whpk_AAAA", {}, "private"),
        ("standard_webhooks", "whsec_AAAA", {}, "24"),
        ("standard_webhooks", "whsec_é", {}, "base64"),
        ("standard_webhooks", "whsk_AAAA", {}, "private"),
        ("standard_webhooks", SHARED, {"id": "a.b"}, "id"),
        ("standard_webhooks", SHARED, {"id": "a\nb"}, "id"),
        ("discord", "zz", {}, "private"),
        ("square", "s", {}, "url"),
        ("twilio", "s", {}, "url"),
        ("linear", "s", {}, "webhookTimestamp"),
        ("linear", "s", {"body": b"[" * 200_000}, "webhookTimestamp"),
    ],
)
def test_w9_refusals_say_what_to_do(scheme: Any, secret: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(webhooks.SigningError) as refused:
        webhooks.sign(scheme, secret, **{"body": b"{}", **given})
    assert words in str(refused.value)
    assert len(secret) < 5 or secret not in str(refused.value)


@pytest.mark.parametrize(
    ("body", "signed"),
    [
        (b"b=2&a=1", b"a1b2"),
        (b"a=%FF%FE", b"a\xff\xfe"),  # latin-1, which is no UTF-8
        (b"a=\xff", b"a\xff"),
        (b"%F0%9F%9A%82=x&%EF%BF%BD=y", b"\xef\xbf\xbdy\xf0\x9f\x9a\x82x"),  # in the order of the bytes
        (b"a=2&a=1&a=2", b"a1a2"),
        (b"a=+%2B&&b", b"a +b"),
        (b"a=b=c;d", b"ab=c;d"),
        (b"?a=1", b"?a1"),
        (b"", b""),
    ],
)
def test_w9_forms_are_signed_as_the_server_reads_them(body: bytes, signed: bytes) -> None:
    url = "https://example.com/hook"
    kind = "application/x-www-form-urlencoded"
    headers = webhooks.sign("twilio", "secret", body, url=url, content_type=kind)
    want = hmac.new(b"secret", url.encode() + signed, "sha1").digest()
    assert headers["X-Twilio-Signature"] == base64.b64encode(want).decode()


def test_w9_tokens() -> None:
    assert webhooks.bearer("t") == {"Authorization": "Bearer t"}
    assert webhooks.token_url("https://h/w/u/", "a/b") == "https://h/w/u/a%2Fb"
    assert webhooks.token_url("https://h/w/{token}/x", "t") == "https://h/w/t/x"
