"""Time that moves only when told to."""

from __future__ import annotations

import threading


class FakeClock:
    """A ``Clock`` for tests; safe for many threads. ``start`` is in seconds since the epoch."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> float:
        """Return seconds since the epoch."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> float:
        """Move the time by ``seconds``, forward only, and return it; raises ``ValueError``."""
        if seconds < 0:
            raise ValueError(f"a clock advances by 0 seconds or more, not {seconds}: use set_back")
        return self._move(seconds)

    def set_back(self, seconds: float) -> float:
        """Move the time back by ``seconds``, as a corrected system clock may, and return it.

        Raises ``ValueError`` for less than 0 seconds.
        """
        if seconds < 0:
            raise ValueError(f"a clock is set back by 0 seconds or more, not {seconds}")
        return self._move(-seconds)

    def _move(self, seconds: float) -> float:
        with self._lock:
            self._now += seconds
            return self._now
