"""One worker process: queue, coordinator, lease keeper and sweeper around one set of stores."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import keptstep.workers.builtin  # noqa: F401 - makes run.now and its kin known
from keptstep.config import Settings
from keptstep.models.artifacts import Effect
from keptstep.models.errors import LeaseLost, StoreError
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.models.mint import new_id
from keptstep.models.records import Lost
from keptstep.workers.broker import StepQueue
from keptstep.workers.calls import Calls
from keptstep.workers.keeper import LeaseKeeper
from keptstep.workers.liveness import Liveness
from keptstep.workers.notifier import notifier_of
from keptstep.workers.runner import LocalRunner
from keptstep.workers.sweeper import Sweeper
from keptstep.workers.ticker import Ticker
from keptstep.workflows.checkpoint import Checkpoint
from keptstep.workflows.coordinator import Coordinator
from keptstep.workflows.definition import Registry
from keptstep.workflows.held import Held
from keptstep.workflows.inputs import Inputs
from keptstep.workflows.live import Blocking, Services
from keptstep.workflows.ports import ArtifactStore, TaskStore

if TYPE_CHECKING:
    import redis

log = logging.getLogger(__name__)


class LocalWorker:
    """Works on a home until it is stopped. It is also the doorbell of its own process.

    With ``only`` it works on those tasks and leaves others to other workers; the set may grow.
    """

    def __init__(
        self,
        settings: Settings,
        store: TaskStore,
        artifacts: ArtifactStore,
        registry: Registry,
        ended: Callable[[TaskId], None],
        only: set[TaskId] | None = None,
    ) -> None:
        # First, since it may refuse: a program's own tasks are nobody else's.
        self._server = _server(settings, store) if only is None else None
        self._only = only
        self._settings = settings
        self._store = store
        self._artifacts = artifacts
        self._registry = registry
        self._held = Held()
        self._liveness = Liveness(settings.worker_locks)
        self._calls = Calls()
        self._checkpoint = self._make_checkpoint()
        self._coordinator = Coordinator(
            self._services,
            self._held,
            self.id,
            lease=settings.lease,
            park_after=settings.park_after,
            ended=ended,
        )
        self._queue = self._make_queue()
        keeper = LeaseKeeper(store, self._held, self.id, settings.lease)
        self._keeper = Ticker("lease keeper", settings.lease / 3, keeper.renew)
        sweeper = Sweeper(
            store,
            artifacts,
            self,
            self._liveness,
            registry,
            lease=settings.lease,
            only=lambda: self._only if self._only is None else frozenset(self._only),
            tell=self._checkpoint.tell,
            also=self._coordinator.ring_held,
        )
        self._sweeper = Ticker("sweeper", settings.sweep, sweeper.sweep, at_once=True)
        self._notifier = notifier_of(settings, store)

    @property
    def id(self) -> WorkerId:
        """This worker's identity, random per start."""
        return self._liveness.worker

    def start(self) -> None:
        """Begin to work."""
        self._coordinator.start()
        self._queue.start()
        self._keeper.start()
        self._sweeper.start()
        if self._notifier is not None:
            self._notifier.start()

    def ring_step(self, step_id: StepId, tool: str) -> None:
        """A step may be ready."""
        self._queue.ring(step_id, tool)

    def ring_task(self, task_id: TaskId) -> None:
        """A task's advance may be due, or its holder may have news."""
        if self._only is None or task_id in self._only:
            self._coordinator.ring(task_id)
        if not self._held.holds_task(task_id):
            self._queue.news(task_id)

    def stop(self, grace: float) -> None:
        """Stop as planned: what may be repeated is given back uncounted (D16).

        A side effect in flight gets ``grace`` seconds; after that it stays with a dead worker
        and so becomes uncertain, which is the truth.
        """
        self._sweeper.stop()
        self._coordinator.stop(grace)
        self._queue.stop(grace)
        self._give_back()
        self._keeper.stop()
        if self._notifier is not None:
            self._notifier.stop(grace)
        self._calls.stop()
        self._liveness.close(owns_nothing=not (self._held.steps() or self._held.tasks()))

    def _give_back(self) -> None:
        for lease in self._held.steps():
            if lease.step.effect is Effect.SIDE_EFFECT:
                log.warning("step %s did not end in time: its outcome is open", lease.step.name)
                continue
            try:
                self._store.release(lease)
                self._held.forget(Lost(frozenset({lease.step.id}), frozenset()))
            except (LeaseLost, StoreError) as error:
                log.info("step %s is left to a sweeper: %s", lease.step.name, error)

    def _make_queue(self) -> StepQueue:
        """Return the queue of this process, or the one that it shares through Redis."""
        if self._server is None:
            return StepQueue(self._settings.workers, self._checkpoint.run)
        from keptstep.workers.lease_broker.doorbell import Ears, redis_queue

        ears = Ears(
            tools=lambda: list(self._registry.tools),
            run=self._checkpoint.run,
            heard=self._coordinator.ring_if_held,
            missed=self._coordinator.ring_held,
        )
        return redis_queue(self._server, self._settings, self.id, ears)

    def _make_checkpoint(self) -> Checkpoint:
        runner = LocalRunner(
            self._store,
            self._artifacts,
            self._registry,
            self._calls,
            new_id=new_id,
            max_result=self._settings.max_result,
        )
        return Checkpoint(
            self._store,
            runner,
            self,
            self._held,
            worker=self.id,
            lease=self._settings.lease,
            known_tools=lambda: list(self._registry.tools),
        )

    def _services(self, blocking: Blocking) -> Services:
        return Services(
            store=self._store,
            artifacts=self._artifacts,
            registry=self._registry,
            doorbell=self,
            inputs=Inputs(self._artifacts, new_id),
            new_id=new_id,
            blocking=blocking,
        )


def _server(settings: Settings, store: TaskStore) -> redis.Redis | None:
    """Return the Redis server that is set; raises ``BadInput`` if it must not be used."""
    if not settings.redis_url:
        return None
    from keptstep.workers.lease_broker.doorbell import fit_server

    return fit_server(settings, store.now)
