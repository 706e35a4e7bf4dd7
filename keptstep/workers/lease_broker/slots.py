"""How many more messages this process may take."""

from __future__ import annotations

import threading


class Slots:
    """The places of ``count`` threads. Reserved before messages are asked for, so that two who
    ask at once never get more than there is room for."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._changed = threading.Condition()

    def occupy(self) -> None:
        """Use a place, there or not: what waits in this process comes first."""
        with self._changed:
            self._free -= 1

    def reserve(self, seconds: float) -> int:
        """Return how many places were free, now reserved; waits so long for the first."""
        with self._changed:
            if self._free <= 0:
                self._changed.wait(seconds)
            count = max(self._free, 0)
            self._free -= count
            return count

    def give_back(self, count: int = 1) -> None:
        """Free places again."""
        with self._changed:
            self._free += count
            self._changed.notify_all()
