"""The broker of a process that shares its steps with others through Redis."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import dramatiq
from dramatiq.broker import Consumer

from keptstep.models.ids import TaskId
from keptstep.workers.broker import LocalBroker, LocalConsumer
from keptstep.workers.lease_broker.bells import Bells
from keptstep.workers.lease_broker.consumer import TAKEN, LeaseConsumer
from keptstep.workers.lease_broker.news import News
from keptstep.workers.lease_broker.outage import Outage
from keptstep.workers.lease_broker.script import Op
from keptstep.workers.lease_broker.sender import Sender
from keptstep.workers.lease_broker.server import TIMEOUT
from keptstep.workers.lease_broker.slots import Slots


@dataclass(slots=True)
class _Held:
    tool: str
    begun: bool = False
    again: bool = False  #: rung since it began: it is to be worked on once more


class LeaseBroker(LocalBroker):
    """Rings through Redis and takes from there; while it is away, in the memory of this process.

    The message of a step stays another's for a lease after it was taken, then it may be taken
    again: the claim decides who works on the step, this only saves others the attempt.
    """

    def __init__(
        self,
        bells: Bells,
        news: News,
        outage: Outage,
        tools: Callable[[], Collection[str]],
        workers: int,
    ) -> None:
        super().__init__()
        self._bells = bells
        self._news = news
        self._outage = outage
        self._tools = tools
        self._held: dict[str, _Held] = {}
        self._slots = Slots(workers)
        self._stopping = threading.Event()
        self._sender = Sender(bells.tell, self._ring_here, outage)
        self.declare_queue(TAKEN)

    def start(self) -> None:
        """Begin to ring and to hear."""
        self._sender.start()
        self._news.start()

    def enqueue(
        self, message: dramatiq.Message[Any], *, delay: int | None = None
    ) -> dramatiq.Message[Any]:
        """Ring a step through Redis, or here while Redis is away."""
        digits = message.message_id
        with self._lock:
            held = self._held.get(digits)
            if held is not None:
                held.again = held.again or held.begun
                return message
        if not self._sender.put(Op("ring", digits, message.options["tool"])):
            self._enqueue_here(digits)
        return message

    def begin(self, digits: str) -> None:
        """A message begins to be worked on."""
        super().begin(digits)
        with self._lock:
            held = self._held.get(digits)
            if held is not None:
                held.begun = True

    def news(self, task_id: TaskId) -> None:
        """Tell the other processes; what is not told is found by their sweepers."""
        self._sender.put(Op("news", task_id.hex()))

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30_000) -> Consumer:
        """Return what takes the messages of a queue."""
        if queue_name != TAKEN:
            return LocalConsumer(self._waiting, timeout / 1000, self._slots.give_back)
        return LeaseConsumer(
            self._bells, self, self._tools, self._slots, self._outage, self._stopping
        )

    def stop(self) -> None:
        """Take nothing more from Redis."""
        self._stopping.set()
        self._news.stop()

    def close(self) -> None:
        """Tell what is still to be told, for as long as one command may take."""
        self._sender.stop(TIMEOUT)
        self._news.join(TIMEOUT)
        self._bells.close()

    # -- the messages that were taken ----------------------------------------------------------
    def hold(self, digits: str, tool: str) -> bool:
        """Note a message as taken; ``False`` if it is held already."""
        with self._lock:
            if digits in self._held:
                return False
            self._held[digits] = _Held(tool)
            return True

    def let_go(self, digits: str) -> None:
        """It is dealt with, unless it was rung since it began."""
        with self._lock:
            held = self._held.pop(digits)
        self._slots.give_back()
        what = "back" if held.again else "done"
        if not self._sender.put(Op(what, digits, held.tool)) and held.again:
            self._enqueue_here(digits)

    def return_(self, digits: str) -> None:
        """It did not begin: somebody else may take it."""
        with self._lock:
            held = self._held.pop(digits)
        self._sender.put(Op("back", digits, held.tool))

    def _ring_here(self, ops: Sequence[Op]) -> None:
        for op in ops:
            if op.what in {"ring", "back"} and not self._stopping.is_set():
                self._enqueue_here(op.digits)

    def _enqueue_here(self, digits: str) -> None:
        if self._add(digits):
            self._slots.occupy()
