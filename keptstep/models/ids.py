"""Identities: 16-byte UUIDv7 values (D48) and how people read and write them."""

from __future__ import annotations

import hashlib
from typing import NewType

TaskId = NewType("TaskId", bytes)
StepId = NewType("StepId", bytes)
ConversationId = NewType("ConversationId", bytes)
ArtifactId = NewType("ArtifactId", bytes)
#: A worker's identity, random per start, so that a restarted process never mistakes an old
#: lease for its own: ``<host>-<random>``, ASCII, at most 64 characters.
WorkerId = NewType("WorkerId", str)
#: Lower-case hexadecimal SHA-256 of a payload, 64 characters.
Sha256 = NewType("Sha256", str)

_SHORT = 8
_DIGITS = 32
_RANDOM_BYTES = 10
_HEX = frozenset("0123456789abcdef")


def uuid7(milliseconds: int, randomness: bytes) -> bytes:
    """Lay out one UUIDv7 (RFC 9562, 5.7).

    ``milliseconds`` since the epoch goes into the first 48 bits; of ``randomness`` (10 bytes)
    74 bits are used. Time and chance come from the caller: this module has neither.
    """
    if len(randomness) != _RANDOM_BYTES:
        raise ValueError(f"a UUIDv7 takes {_RANDOM_BYTES} random bytes, not {len(randomness)}")
    value = bytearray((milliseconds & (2**48 - 1)).to_bytes(6, "big") + randomness)
    value[6] = 0x70 | (value[6] & 0x0F)
    value[8] = 0x80 | (value[8] & 0x3F)
    return bytes(value)


def full(identity: bytes) -> str:
    """All 32 hexadecimal digits: what ``--json`` prints."""
    return identity.hex()


def short(identity: bytes) -> str:
    """The last 8 digits, which are random and so differ: what people read."""
    return identity.hex()[-_SHORT:]


def is_fragment(text: str) -> bool:
    """Whether ``text`` may be a prefix or a suffix of an id (1 to 32 hexadecimal digits)."""
    cleaned = text.replace("-", "").lower()
    return 0 < len(cleaned) <= _DIGITS and set(cleaned) <= _HEX


def matches(identity: bytes, fragment: str) -> bool:
    """Whether a fragment typed by a person is a prefix or a suffix of this id."""
    digits, cleaned = identity.hex(), fragment.replace("-", "").lower()
    return digits.startswith(cleaned) or digits.endswith(cleaned)


def notice_id(task_id: bytes, seq: int) -> bytes:
    """Return the 16 bytes by which a receiver knows a notice of an event again."""
    return hashlib.sha256(task_id + seq.to_bytes(8, "big")).digest()[:16]
