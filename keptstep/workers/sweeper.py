"""The sweeper: finds what nobody rang for and what dead or silent workers left behind.

It is what makes the queue a mere doorbell: every message may be lost, and the work is found here
within a second. Every change repeats its condition in the statement, so that two sweepers, or a
sweeper and a worker that finishes just now, give one outcome.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from keptstep.models.decisions import Decision
from keptstep.models.ids import TaskId, WorkerId
from keptstep.models.records import Settled, Step
from keptstep.workers.liveness import Liveness
from keptstep.workflows.definition import Registry
from keptstep.workflows.kernel import resume_decision
from keptstep.workflows.ports import ArtifactStore, Doorbell, TaskStore

log = logging.getLogger(__name__)


class Sweeper:
    """Sweeps one store for one worker.

    What the dead left behind is recovered whose ever it is; rung is for the tasks that ``only``
    returns, or for all of them where it returns ``None``.
    """

    def __init__(  # noqa: PLR0913 - the ports a sweep touches
        self,
        store: TaskStore,
        artifacts: ArtifactStore,
        doorbell: Doorbell,
        liveness: Liveness,
        registry: Registry,
        *,
        lease: float,
        only: Callable[[], Collection[TaskId] | None],
        tell: Callable[[Settled], None],
        also: Callable[[], None],
    ) -> None:
        self._store = store
        self._artifacts = artifacts
        self._doorbell = doorbell
        self._liveness = liveness
        self._registry = registry
        self._lease = lease
        self._only = only
        self._tell = tell
        self._also = also
        self._jump = ClockJump(lease)

    def sweep(self) -> None:
        """Recover what was left behind, then ring for all that is due."""
        dead = self._liveness.dead(self._store.owners())
        jumped = self._jump.lately(self._store.now(), time.monotonic())
        if not jumped:
            # Tasks first: a function is entered while its steps are still being sorted out.
            for task in self._store.recover_tasks(dead):
                log.info("task %s is taken back: %s", task.id.hex(), task.reason or task.status)
                self._doorbell.ring_task(task.id)
        self._recover_steps(dead, only_dead=jumped)
        due = self._store.due(
            only=self._only(),
            tools=list(self._registry.tools),
            workflows=list(self._registry.workflows),
        )
        for bell in due.steps:
            self._doorbell.ring_step(*bell)
        for task_id in due.tasks:
            self._doorbell.ring_task(task_id)
        self._also()
        self._forget_dead()

    def _recover_steps(self, dead: set[WorkerId], *, only_dead: bool) -> None:
        for step in self._store.orphans(dead):
            if only_dead and step.owner not in dead:
                continue
            decision = self._decide(step, dead)
            settled = self._store.recover(step, decision, dead)
            if settled is not None:
                log.info("step %s: %s", step.name, decision.reason)
                only = self._only()
                if only is None or step.task_id in only:
                    self._tell(settled)

    def _decide(self, step: Step, dead: set[WorkerId]) -> Decision:
        return resume_decision(
            step,
            self._store.now(),
            holder_dead=step.owner in dead,
            payload_intact=self._intact(step),
        )

    def _intact(self, step: Step) -> bool:
        if step.artifact_id is None:
            return False
        return self._artifacts.intact(self._store.artifact(step.artifact_id).sha)

    def _forget_dead(self) -> None:
        """Remove the files of dead workers that own nothing any more."""
        idle = self._liveness.others() - self._store.owners()
        for worker in self._liveness.dead(idle):
            self._liveness.forget(worker)


class ClockJump:
    """Notices that the store's clock moved otherwise than time did.

    After a jump, or a laptop's sleep, leases look ended whose holders are alive: they get one
    lease of time to renew before anybody takes from them.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._last: tuple[float, float] | None = None
        self._until = 0.0

    def lately(self, store_time: float, monotonic: float) -> bool:
        """Whether the clock jumped within the last lease; both times in seconds."""
        if self._last is not None:
            passed = (store_time - self._last[0]) - (monotonic - self._last[1])
            if abs(passed) > self._lease / 3:
                log.warning("the clock jumped by %.1f s: leases get time to be renewed", passed)
                self._until = monotonic + self._lease
        self._last = (store_time, monotonic)
        return monotonic < self._until
