"""The embedded queue: dramatiq on an in-process broker, one generic actor, ids only (R133).

Nothing of dramatiq's own promises is relied on: its retries and its time limit are off, its
messages may be lost. The row is the lease, the sweeper finds what was not rung.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import dramatiq
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import Retries

from keptstep.models.errors import StoreError
from keptstep.models.ids import StepId
from keptstep.workflows.failures import place_of

log = logging.getLogger(__name__)

QUEUE = "steps"


class StepQueue:
    """Rings steps and runs them on ``workers`` threads of this process."""

    def __init__(self, workers: int, run: Callable[[StepId], Any]) -> None:
        self._run = run
        self._rung: set[StepId] = set()
        self._lock = threading.Lock()
        self._broker = StubBroker(middleware=[Retries(max_retries=0)])
        declare = dramatiq.actor(broker=self._broker, queue_name=QUEUE, actor_name="run_step")
        self._actor = declare(self.run_step)
        self._worker = dramatiq.Worker(self._broker, worker_threads=workers, worker_timeout=100)

    def start(self) -> None:
        """Begin to run what is rung."""
        self._broker.emit_after("process_boot")
        self._worker.start()

    def ring(self, step_id: StepId) -> None:
        """Put a step into the queue, once however often it is rung before it is taken."""
        with self._lock:
            if step_id in self._rung:
                return
            self._rung.add(step_id)
        self._actor.send(step_id.hex())

    def run_step(self, digits: str) -> None:
        """Run one step: the actor's function."""
        step_id = StepId(bytes.fromhex(digits))
        with self._lock:
            self._rung.discard(step_id)
        try:
            self._run(step_id)
        except StoreError as error:
            # The row is as it was or its lease ends: the sweeper finds it either way.
            log.warning("step %s is left to the sweeper: %s", digits, error)
        except Exception as error:
            # Ours, not the tool's: told once here, and the queue goes on with the others.
            log.error("step %s is left to the sweeper: %s", digits, place_of(error))

    def stop(self, grace: float) -> None:
        """Take nothing more and wait up to ``grace`` seconds for what runs."""
        self._worker.stop(timeout=int(grace * 1000))
        self._broker.close()
