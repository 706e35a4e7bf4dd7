"""A submitted task as its caller sees it: wait for it, read its result."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from typing import Any

from keptstep.models.errors import TaskBlocked, TaskFailed, WaitTimeout
from keptstep.models.ids import TaskId, short
from keptstep.models.records import Step, Task
from keptstep.models.states import TASK_FINISHED, TaskStatus
from keptstep.workflows.kernel import verdict_needed
from keptstep.workflows.ports import ArtifactStore, TaskStore
from keptstep.workflows.values import Result

#: How often the row is looked at when nothing rings, in seconds: another process may finish it.
_POLL = 0.2
#: How often it is asked, in seconds, whether only a verdict can move the task.
_LOOK = 0.5


class Endings:
    """Wakes those who wait for a task when this process ends it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ended = 0

    def tell(self, _task_id: TaskId) -> None:
        """Say that a task ended or stopped."""
        with self._changed:
            self._ended += 1
            self._changed.notify_all()

    def wait(self, seen: int, seconds: float) -> int:
        """Wait until something ended after ``seen``, at most ``seconds``; returns the count."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended > seen, seconds)
            return self._ended


class Handle:
    """One task: its id, whether this call made it, and the way to its result."""

    def __init__(
        self,
        task_id: TaskId,
        store: TaskStore,
        artifacts: ArtifactStore,
        endings: Endings,
        *,
        created: bool = False,
        returns: Any = None,
    ) -> None:
        self.id = task_id
        self.created = created
        self._store = store
        self._artifacts = artifacts
        self._endings = endings
        self._returns = returns

    def task(self) -> Task:
        """Return the task's record as it is now."""
        return self._store.task(self.id)

    def wait(self, timeout: float | None = None) -> Task:
        """Wait until the task is finished, or only a person can move it: blocked, or uncertain.

        Raises ``WaitTimeout`` after ``timeout`` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        seen, look_again = 0, time.monotonic() + _LOOK
        while True:
            task = self.task()
            if task.status in TASK_FINISHED or task.status is TaskStatus.BLOCKED:
                return task
            if time.monotonic() >= look_again:
                # Only of a task that nobody holds: a function in memory may have other plans.
                if task.status is TaskStatus.WAITING and self._verdict_needed() is not None:
                    return task
                look_again = time.monotonic() + _LOOK
            left = _POLL if end is None else min(_POLL, end - time.monotonic())
            if left <= 0:
                raise WaitTimeout(f"task {short(self.id)} is {task.status} after {timeout} s")
            seen = self._endings.wait(seen, left)

    def result(self, timeout: float | None = None) -> Result[Any]:
        """Wait for the task and return its result.

        Raises ``TaskFailed`` or ``TaskBlocked`` with the reason, ``WaitTimeout``.
        """
        task = self.wait(timeout)
        if task.status is TaskStatus.BLOCKED:
            raise TaskBlocked(f"task {short(self.id)} waits for an operator: {task.reason}")
        if task.status not in TASK_FINISHED:
            step = self._verdict_needed()
            name = "a step" if step is None else f"step {step.name}"
            raise TaskBlocked(f"task {short(self.id)} waits for a verdict: {name} is uncertain")
        if task.artifact_id is None:
            raise TaskFailed(
                f"task {short(self.id)} {task.status}: {task.reason} (for the whole of it: "
                f"keptstep show {short(self.id)})"
            )
        record = partial(self._store.artifact, task.artifact_id)
        return Result(record, self._artifacts, self._returns)

    async def aresult(self, timeout: float | None = None) -> Result[Any]:  # noqa: ASYNC109
        """``result`` for callers in an event loop: other tasks of the loop go on meanwhile."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _POLL if end is None else min(_POLL, end - time.monotonic())
            try:
                return await asyncio.to_thread(self.result, max(left, 0.0))
            except WaitTimeout:
                if end is not None and time.monotonic() >= end:
                    raise

    def _verdict_needed(self) -> Step | None:
        return verdict_needed(self._store.unfinished(self.id))

    def __repr__(self) -> str:
        """Name the task."""
        return f"<Handle of task {short(self.id)}>"
