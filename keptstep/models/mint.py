"""New ids: the one place where time and chance go into an identity."""

from __future__ import annotations

import os
import time

from keptstep.models.ids import uuid7


def new_id() -> bytes:
    """Return a new UUIDv7 of 16 bytes."""
    return uuid7(time.time_ns() // 1_000_000, os.urandom(10))
