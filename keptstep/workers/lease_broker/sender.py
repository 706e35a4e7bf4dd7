"""Telling Redis from a thread of its own: nobody who rings ever waits for the network."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from keptstep.workers.lease_broker.outage import Outage
from keptstep.workers.lease_broker.script import Op
from keptstep.workflows.failures import place_of

log = logging.getLogger(__name__)

#: Ops in one call of the script, and ops that may wait for theirs.
BATCH = 256
BACKLOG = 10_000
#: Seconds a message that is done stays in Redis for company: nobody waits to hear of it.
_LINGER = 0.05


class Sender:
    """Sends ops in the order in which they were given.

    While Redis is away nothing is taken, and ``failed`` gets what was taken and could not be
    sent, so that work goes on another way.
    """

    def __init__(
        self,
        send: Callable[[Sequence[Op]], None],
        failed: Callable[[Sequence[Op]], None],
        outage: Outage,
    ) -> None:
        self._send = send
        self._failed = failed
        self._outage = outage
        self._waiting: deque[Op] = deque()
        self._once: set[Op] = set()  # news that waits: it is no newer when it is told twice
        self._urgent = False
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="keptstep-sender", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def put(self, op: Op) -> bool:
        """Take one op, or say that it cannot be sent now."""
        with self._changed:
            if self._stopping or self._outage.now or len(self._waiting) >= BACKLOG:
                return False
            if op not in self._once:
                self._waiting.append(op)
            if op.what == "news":
                self._once.add(op)
            self._urgent = self._urgent or op.what != "done"
            if self._urgent or len(self._waiting) == 1:
                self._changed.notify()
            return True

    def stop(self, seconds: float) -> None:
        """Send what waits, for at most so many seconds, and end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _serve(self) -> None:
        while ops := self._next():
            try:
                self._send(ops)
            except Exception as error:  # whatever it is, the others must be told another way
                log.debug("the doorbell did not get through: %s", place_of(error))
                self._outage.failed(error)
                with self._changed:
                    ops += self._pop(BACKLOG)
                self._failed(ops)

    def _next(self) -> list[Op]:
        """Return what waits; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopping)
            self._changed.wait_for(lambda: self._urgent or self._stopping, _LINGER)
            return self._pop(BATCH)

    def _pop(self, most: int) -> list[Op]:
        ops = [self._waiting.popleft() for _ in range(min(len(self._waiting), most))]
        self._once.difference_update(ops)
        self._urgent = bool(self._waiting)
        return ops
