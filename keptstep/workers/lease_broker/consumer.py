"""Taking messages from Redis, for as many as there is room for."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from dramatiq.broker import Consumer, MessageProxy

from keptstep.workers.broker import step_message
from keptstep.workers.lease_broker.bells import Bells, Taken
from keptstep.workers.lease_broker.outage import Outage
from keptstep.workers.lease_broker.slots import Slots
from keptstep.workflows.failures import place_of

log = logging.getLogger(__name__)

#: The dramatiq queue of what comes through Redis.
TAKEN = "taken"
#: Seconds a look waits for a bell: how long a lost ring of it, and a stop, may take.
BLOCK = 0.5
#: Seconds between two lines about refused messages while they keep coming.
_QUIET = 60.0


class Holder(Protocol):
    """Keeps account of the messages this process took."""

    def hold(self, digits: str, tool: str) -> bool:
        """Note a message as taken; ``False`` if it is held already."""
        ...

    def let_go(self, digits: str) -> None:
        """It is dealt with."""
        ...

    def return_(self, digits: str) -> None:
        """It did not begin: somebody else may take it."""
        ...


class LeaseConsumer(Consumer):
    """The one thread of a process that takes messages; nothing that Redis does ends it."""

    def __init__(
        self,
        bells: Bells,
        holder: Holder,
        tools: Callable[[], Collection[str]],
        slots: Slots,
        outage: Outage,
        stopping: threading.Event,
    ) -> None:
        self._bells = bells
        self._holder = holder
        self._tools = tools
        self._slots = slots
        self._outage = outage
        self._stopping = stopping
        self._ready: deque[tuple[str, str]] = deque()
        self._refusals = Refusals()

    def __next__(self) -> MessageProxy | None:
        """Return the next message, or nothing for a while."""
        if not self._ready:
            try:
                self._look()
            except Exception as error:  # of the driver, or ours: this thread must go on
                log.debug("the doorbell could not be heard: %s", place_of(error))
                self._outage.failed(error)
        if not self._ready:
            return None
        tool, digits = self._ready.popleft()
        return MessageProxy(step_message(digits, tool, TAKEN))

    def ack(self, message: MessageProxy) -> None:
        """It was worked on, or somebody else does: what became of the step is in its row."""
        self._holder.let_go(message.message_id)

    def nack(self, message: MessageProxy) -> None:
        """The same: dead letters are rows."""
        self._holder.let_go(message.message_id)

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Give back what did not begin."""
        for message in messages:
            self._holder.return_(message.message_id)

    def close(self) -> None:
        """Give back what was taken and not even delivered."""
        while self._ready:
            self._holder.return_(self._ready.popleft()[1])

    def _look(self) -> None:
        if self._stopping.is_set():
            time.sleep(BLOCK / 10)  # the worker's threads end first
        elif self._outage.now:
            self._ask_again()
        elif free := self._slots.reserve(BLOCK):
            self._take(free)

    def _ask_again(self) -> None:
        self._stopping.wait(min(self._outage.seconds, BLOCK))
        if not self._outage.seconds and not self._stopping.is_set():
            self._bells.ping()
            self._outage.answered()

    def _take(self, free: int) -> None:
        tools = list(self._tools())
        try:
            taken = self._bells.take(tools, free)
            for tool, digits in taken.messages:
                if self._holder.hold(digits, tool):
                    self._ready.append((tool, digits))
        finally:
            self._slots.give_back(free - len(self._ready))
        self._refusals.count(taken.refused)
        if not self._ready:
            self._wait(tools, taken)

    def _wait(self, tools: list[str], taken: Taken) -> None:
        seconds = BLOCK if taken.wait is None else min(BLOCK, taken.wait)
        if seconds > 0.0:
            # Zero would be for ever.
            self._bells.wait(tools, max(seconds, 0.001))


class Refusals:
    """Tells of refused messages once for as many as come in a row."""

    def __init__(self) -> None:
        self._count = 0
        self._told = -_QUIET

    def count(self, refused: int) -> None:
        """Count, and tell when no more come or they have come for long."""
        self._count += refused
        now = time.monotonic()
        if self._count and (not refused or now - self._told >= _QUIET):
            log.warning("%d messages in Redis were no step ids: thrown away", self._count)
            self._count, self._told = 0, now
