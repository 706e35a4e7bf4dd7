"""The clock of stores that live on this host."""

from __future__ import annotations

import time


class HostClock:
    """The host's own time: every process of a home on this host shares it (D7)."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()
