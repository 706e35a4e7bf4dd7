"""Whether Redis is away, and when to ask it again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

#: Seconds between two looks while Redis is away: the first, doubled up to the last.
FIRST, LAST = 0.1, 2.0
#: Seconds in which one outage after another is told only once.
_QUIET = 60.0


class Outage:
    """What the threads of one process know about the server at ``address``.

    ``clock`` gives seconds that never go back.
    """

    def __init__(self, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._address = address
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None
        self._pause = FIRST
        self._again = 0.0
        self._told = -_QUIET
        self._telling = False

    @property
    def now(self) -> bool:
        """Whether it is away."""
        return self._since is not None

    @property
    def seconds(self) -> float:
        """How long to wait before it is asked again."""
        return max(0.0, self._again - self._clock())

    def failed(self, error: Exception) -> None:
        """A command did not get through."""
        now = self._clock()
        with self._lock:
            if self._since is None:
                self._since = now
                self._pause = FIRST
                self._telling = now - self._told >= _QUIET
                if self._telling:
                    self._told = now
                    # The class alone: its text may quote what was sent.
                    log.warning(
                        "Redis at %s is away (%s): this process rings itself until it is back",
                        self._address,
                        type(error).__name__,
                    )
            else:
                self._pause = min(2 * self._pause, LAST)
            self._again = now + self._pause

    def answered(self) -> None:
        """A command got through."""
        if self._since is None:
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None and self._telling:
            away = self._clock() - since
            log.warning("Redis at %s is back after %.1f s", self._address, away)
