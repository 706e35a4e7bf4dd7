# ruff: noqa: S101 - suites are made of assertions
"""What the suites over a ``TaskStore`` have in common.

A suite is a class of tests that names no store. Who has a store subclasses every suite of
``keptstep.testing.conformance_tasks`` and says how one is made:

    class TestMySubmit(SubmitSuite):
        def make_store(self, clock):
            return MyTaskStore(clock, max_steps=self.max_steps)

pytest runs the rest. After each test the log of every task is compared with its rows.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from keptstep.models.events import Event, EventKind
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.models.records import Attempt, NewStep, NewTask, Step, StepLease, Task, TaskLease
from keptstep.testing.builders import new_step, new_task
from keptstep.testing.clock import FakeClock
from keptstep.testing.invariants import all_events, check_task
from keptstep.workflows.ports import TaskStore

T = TypeVar("T")

ANN = WorkerId("ann-0001")
BOB = WorkerId("bob-0002")
#: Seconds; shorter than the deadline of a built step.
LEASE = 15.0


@dataclass(frozen=True)
class ReadOut:
    """Everything that can be read about one task."""

    task: Task
    steps: list[Step]
    attempts: dict[StepId, list[Attempt]]
    events: list[Event]


def read_out(store: TaskStore, task_id: TaskId) -> ReadOut:
    """Read everything there is about a task."""
    steps = store.steps(task_id)
    attempts = {step.id: store.attempts(step.id) for step in steps}
    return ReadOut(store.task(task_id), steps, attempts, all_events(store, task_id))


@contextmanager
def refused(kind: type[Exception]) -> Iterator[None]:
    """Demand that the block raises ``kind``."""
    try:
        yield
    except kind:
        return
    raise AssertionError(f"this should have raised {kind.__name__}")


def at_once(act: Callable[[int], T], count: int) -> list[T]:
    """Return what ``act(0)``, ``act(1)`` ... answer when as many threads call it at once.

    Threads change places as often as the interpreter can, so that a verb that is not alone in
    its store is interrupted.
    """
    start = threading.Barrier(count)

    def run(number: int) -> T:
        start.wait()
        return act(number)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(run, range(count)))
    finally:
        sys.setswitchinterval(usual)


class StoreSuite:
    """The ground every suite stands on: one store, one clock, and short ways to a situation."""

    #: What ``make_store`` passes on as the limit of steps per task.
    max_steps = 50
    clock: FakeClock
    _store: TaskStore | None

    def make_store(self, clock: FakeClock) -> TaskStore:
        """Return an empty store that takes its time from ``clock``."""
        raise NotImplementedError("say how a store is made: override make_store")

    @property
    def store(self) -> TaskStore:
        """The store under test, made when it is first asked for."""
        if self._store is None:
            self._store = self.make_store(self.clock)
        return self._store

    def setup_method(self) -> None:
        """Begin each test with a clock and no store."""
        self.clock = FakeClock()
        self._store = None

    def teardown_method(self) -> None:
        """Check what holds in every store at every moment, then let go of it."""
        if self._store is not None:
            for task in self._store.tasks(limit=1000):
                check_task(self._store, task.id)
            self._store.close()

    # -- short ways --------------------------------------------------------------------------
    def submit(self, new: NewTask | None = None) -> Task:
        """Return a task submitted now."""
        task, _ = self.store.submit(new or new_task())
        return task

    def advance(self, task: Task | None = None, worker: WorkerId = ANN) -> TaskLease:
        """Return the lease of a task's advance, of a new task by default."""
        lease = self.store.claim_task((task or self.submit()).id, worker, LEASE)
        assert lease is not None, "a ready task can be claimed"
        return lease

    def planned(self, *news: NewStep) -> list[Step]:
        """Return steps of a new task whose function waits."""
        lease = self.advance()
        steps = self.store.plan(lease, news or [new_step()])
        self.leave(lease)
        return steps

    def leave(self, lease: TaskLease) -> Task:
        """Return the task of an advance that left, having seen all that happened."""
        return self.store.leave(lease, self.store.task(lease.task.id).last_seq)

    def claim(self, step: Step, worker: WorkerId = ANN) -> StepLease:
        """Return the lease of a step that may be claimed."""
        lease = self.store.claim_step(step.id, worker, LEASE)
        assert lease is not None, "a ready step can be claimed"
        return lease

    def running(self, worker: WorkerId = ANN, **values: Any) -> StepLease:
        """Return the lease of the one step of a new task."""
        (step,) = self.planned(new_step(**values))
        return self.claim(step, worker)

    def kinds(self, task_id: TaskId, step_id: StepId | None = None) -> list[EventKind]:
        """Return the kinds of a task's events, of one step's by choice."""
        events = all_events(self.store, task_id)
        return [e.kind for e in events if step_id is None or e.step_id == step_id]

    def last_event(self, task_id: TaskId) -> Event:
        """Return the newest event of a task."""
        return all_events(self.store, task_id)[-1]

    @contextmanager
    def unchanged(self, task_id: TaskId) -> Iterator[None]:
        """Demand that the block leaves everything about a task as it was."""
        before = read_out(self.store, task_id)
        yield
        assert read_out(self.store, task_id) == before, "nothing may have changed"
