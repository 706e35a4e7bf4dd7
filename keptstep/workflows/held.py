"""What this process holds: the leases that are renewed while their work goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from keptstep.models.ids import StepId, TaskId
from keptstep.models.records import Lost, StepLease, TaskLease


class Held:
    """The leases of one process, by id; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[StepId, StepLease] = {}
        self._tasks: dict[TaskId, TaskLease] = {}

    @contextmanager
    def step(self, lease: StepLease) -> Iterator[None]:
        """Hold a step's lease while the block runs."""
        with self._lock:
            self._steps[lease.step.id] = lease
        try:
            yield
        finally:
            with self._lock:
                if self._steps.get(lease.step.id) is lease:
                    del self._steps[lease.step.id]

    def add_task(self, lease: TaskLease) -> None:
        """Hold a task's lease until ``drop_task``."""
        with self._lock:
            self._tasks[lease.task.id] = lease

    def drop_task(self, lease: TaskLease) -> None:
        """Let go of a task's lease, unless a newer one took its place."""
        with self._lock:
            if self._tasks.get(lease.task.id) is lease:
                del self._tasks[lease.task.id]

    def holds_task(self, task_id: TaskId) -> bool:
        """Whether a task's function is held here."""
        with self._lock:
            return task_id in self._tasks

    def steps(self) -> list[StepLease]:
        """Return the steps held now."""
        with self._lock:
            return list(self._steps.values())

    def tasks(self) -> list[TaskLease]:
        """Return the tasks held now."""
        with self._lock:
            return list(self._tasks.values())

    def forget(self, lost: Lost) -> None:
        """Stop renewing what turned out to be somebody else's; its writes are refused anyway."""
        with self._lock:
            for step_id in lost.steps:
                self._steps.pop(step_id, None)
            for task_id in lost.tasks:
                self._tasks.pop(task_id, None)
