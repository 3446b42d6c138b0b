"""Secrets, read the way their schemes write them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, field

from .schemes import Digest, Encoding, KeyKind

SHARED, PUBLIC, PRIVATE = "whsec_", "whpk_", "whsk_"
LEAST_SHARED = 24


class SigningError(ValueError):
    """The delivery cannot be signed like this. It never tells the secret."""


@dataclass(frozen=True)
class Key:
    """A secret made ready for use."""

    kind: KeyKind
    raw: bytes = field(repr=False)


def read_key(scheme: str, secret: str) -> Key:
    """The key that a secret stands for."""
    if not secret:
        raise SigningError("the secret is empty; with an empty secret anyone could sign")
    if secret.strip() != secret:
        raise SigningError("the secret begins or ends with white space; use it without")
    if scheme == "discord":
        return _private(_unhex(secret))
    if scheme == "standard_webhooks" and secret.startswith(PRIVATE):
        return _private(decode_base64(secret[len(PRIVATE) :]))
    if scheme == "standard_webhooks" or (scheme == "gitlab" and secret.startswith(SHARED)):
        return Key("shared", read_shared(secret))
    return Key("text", secret.encode())


def read_shared(secret: str) -> bytes:
    """The bytes that a whsec_ secret stands for."""
    if secret.startswith(PUBLIC):
        raise SigningError(f"a public key can only verify; to sign, use the private key ({PRIVATE})")
    raw = decode_base64(secret[len(SHARED) :] if secret.startswith(SHARED) else secret)
    if raw is None:
        raise SigningError(f"the secret must be {SHARED} and base64 after it")
    if len(raw) < LEAST_SHARED:
        raise SigningError(f"the key has {len(raw)} bytes; {LEAST_SHARED} are the least that is safe")
    return raw


def decode_base64(text: str) -> bytes | None:
    """The bytes of base64 with or without padding, which people lose when they copy."""
    text = text.rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def digest(kind: Digest, key: Key, message: bytes) -> bytes:
    """The signature of a message, as bytes."""
    if kind == "token":
        return key.raw
    if kind == "ed25519":
        return _ed25519(key.raw, message)
    if kind == "salted-sha256":
        return hashlib.sha256(key.raw + message).digest()
    return hmac.new(key.raw, message, kind).digest()


def encode(encoding: Encoding, raw: bytes) -> str:
    """A signature as its sender writes it."""
    if encoding == "hex":
        return raw.hex()
    if encoding == "base64":
        return base64.b64encode(raw).decode()
    return raw.decode()


def _unhex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _private(raw: bytes | None) -> Key:
    # Some write the public key behind the private one.
    if raw is None or len(raw) not in (32, 64):
        raise SigningError("to sign, the private Ed25519 key is needed")
    return Key("private", raw[:32])


def _ed25519(seed: bytes, message: bytes) -> bytes:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise SigningError("this scheme signs with a private key: pip install 'lineshaft[ed25519]'") from error
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)
