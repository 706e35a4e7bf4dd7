"""The queue: dramatiq with one generic actor and ids only (R133), and its in-process broker.

Nothing of dramatiq's own promises is relied on: its retries and its time limit are off, its
messages may be lost. The row is the lease, the sweeper finds what was not rung.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any

import dramatiq
from dramatiq.broker import Broker, Consumer, MessageProxy
from dramatiq.middleware import Retries

from keptstep.models.errors import StoreError
from keptstep.models.ids import StepId, TaskId
from keptstep.workflows.failures import place_of

log = logging.getLogger(__name__)

QUEUE = "steps"
ACTOR = "run_step"


def step_message(digits: str, tool: str, queue_name: str = QUEUE) -> dramatiq.Message[None]:
    """Return the message for a step: its id is the step's, so two of them are one."""
    return dramatiq.Message(
        queue_name=queue_name,
        actor_name=ACTOR,
        args=(digits,),
        kwargs={},
        options={"tool": tool},
        message_id=digits,
    )


class LocalBroker(Broker):
    """Messages in the memory of this process, each once until it begins to be worked on."""

    def __init__(self) -> None:
        super().__init__(middleware=[Retries(max_retries=0)])
        self._lock = threading.Lock()
        self._rung: set[str] = set()
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin to deliver."""

    def declare_queue(self, queue_name: str) -> None:
        """Make a queue known to the worker."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = None
            self.emit_after("declare_queue", queue_name)

    def enqueue(
        self, message: dramatiq.Message[Any], *, delay: int | None = None
    ) -> dramatiq.Message[Any]:
        """Let a message wait here unless it does so already; what is to wait longer waits in its
        row (``delay`` is not looked at)."""
        self._add(message.message_id)
        return message

    def begin(self, digits: str) -> None:
        """A message begins to be worked on: rung now, it is to be worked on once more."""
        with self._lock:
            self._rung.discard(digits)

    def news(self, task_id: TaskId) -> None:
        """There is news of a task: in one process everybody knows."""

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30_000) -> Consumer:
        """Return what takes the messages of a queue."""
        return LocalConsumer(self._waiting, timeout / 1000, lambda: None)

    def stop(self) -> None:
        """Take nothing new from elsewhere; what runs may end."""

    def close(self) -> None:
        """Let go of everything."""

    def _add(self, digits: str) -> bool:
        """Let a message wait here; ``False`` if it does already."""
        with self._lock:
            if digits in self._rung:
                return False
            self._rung.add(digits)
        self._waiting.put(digits)
        return True


class LocalConsumer(Consumer):
    """Takes what waits in this process; ``done`` is called once for each."""

    def __init__(
        self, waiting: queue.SimpleQueue[str], timeout: float, done: Callable[[], None]
    ) -> None:
        self._waiting = waiting
        self._timeout = timeout
        self._done = done

    def __next__(self) -> MessageProxy | None:
        """Return the next message, or nothing for a while."""
        try:
            digits = self._waiting.get(timeout=self._timeout)
        except queue.Empty:
            return None
        return MessageProxy(step_message(digits, ""))

    def ack(self, message: MessageProxy) -> None:
        """It is dealt with."""
        self._done()

    def nack(self, message: MessageProxy) -> None:
        """It is dealt with too: what failed for good is a row."""
        self._done()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Forget what did not begin: its row is ready, and a sweeper finds it."""


class StepQueue:
    """Rings steps and runs those that were rung on ``workers`` threads of this process."""

    def __init__(
        self, workers: int, run: Callable[[StepId], Any], broker: LocalBroker | None = None
    ) -> None:
        self._run = run
        self._broker = broker or LocalBroker()
        declare = dramatiq.actor(broker=self._broker, queue_name=QUEUE, actor_name=ACTOR)
        declare(self.run_step)
        self._worker = dramatiq.Worker(self._broker, worker_threads=workers, worker_timeout=100)

    def start(self) -> None:
        """Begin to run what is rung."""
        self._broker.emit_after("process_boot")
        self._broker.start()
        self._worker.start()

    def ring(self, step_id: StepId, tool: str) -> None:
        """Put a step into its tool's queue, once however often it is rung before it is taken."""
        self._broker.enqueue(step_message(step_id.hex(), tool))

    def news(self, task_id: TaskId) -> None:
        """Tell other processes that there is news of a task."""
        self._broker.news(task_id)

    def run_step(self, digits: str) -> None:
        """Run one step: the actor's function."""
        self._broker.begin(digits)
        try:
            self._run(StepId(bytes.fromhex(digits)))
        except StoreError as error:
            # The row is as it was or its lease ends: the sweeper finds it either way.
            log.warning("step %s is left to the sweeper: %s", digits, error)
        except Exception as error:
            # Ours, not the tool's: told once here, and the queue goes on with the others.
            log.error("step %s is left to the sweeper: %s", digits, place_of(error))

    def stop(self, grace: float) -> None:
        """Take nothing more and wait up to ``grace`` seconds for what runs."""
        self._broker.stop()
        self._worker.stop(timeout=int(grace * 1000))
        self._broker.close()
