"""The port of everything remembered: tasks, steps, attempts, leases, events, artifact records.

Rules every ``TaskStore`` keeps, shown by ``keptstep.testing``:

* a verb is one transaction, durable when it returns, or it raises and changed nothing;
* every status change has its event in the same transaction, numbered without a gap per task;
* every write that takes a lease checks the lease's token and that the row is still running, and
  raises ``LeaseLost`` otherwise;
* time is the store's own clock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from keptstep.models.decisions import Decision
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.models.records import (
    Due,
    Failure,
    Lost,
    NewArtifact,
    NewStep,
    NewTask,
    Ruling,
    Settled,
    Step,
    StepLease,
    Task,
    TaskLease,
)
from keptstep.workflows.outbox import Outbox
from keptstep.workflows.store_reads import StoreReads


class TaskStore(StoreReads, Outbox, Protocol):
    """Tasks, steps, attempts, leases, events and the records of artifacts."""

    # -- tasks -------------------------------------------------------------------------------
    def submit(self, new: NewTask) -> tuple[Task, bool]:
        """Keep a new task, ready to be advanced, and its conversation if that is new.

        Returns the task and whether it was made now. With a key used before, the first task is
        returned; raises ``KeyConflict`` if that one had another workflow or input.
        """
        ...

    def claim_task(
        self,
        task_id: TaskId,
        worker: WorkerId,
        lease: float,
        workflows: Collection[str] | None = None,
    ) -> TaskLease | None:
        """Take the advance of a task for ``lease`` seconds, token and attempts one higher.

        ``None`` when it is not ready, not due, its attempts are used up, or its workflow is not
        among ``workflows`` (the names a worker knows; ``None`` means all).
        """
        ...

    def plan(self, lease: TaskLease, steps: Sequence[NewStep]) -> list[Step]:
        """Keep new steps of an advance: ready, or pending while a step they need is not done.

        The task's attempts go back to 1, also with no steps: the advance did well so far, and a
        crash from here on is not held against what came before.

        Raises ``LeaseLost``; ``BadInput`` when a name exists, a need is unknown or does not come
        earlier, or the task would have more steps than its limit (D32).
        """
        ...

    def leave(self, lease: TaskLease, seen: int) -> Task:
        """Give the advance up because the function waits.

        ``seen`` is the number of the newest event the function was told of: the task waits, or
        is ready at once if an event above it finished a step. The attempts go back to 0.
        """
        ...

    def release_task(self, lease: TaskLease) -> Task:
        """Give the advance back for a planned shutdown: ready, the attempt not counted (D16)."""
        ...

    def finish_task(self, lease: TaskLease, result: NewArtifact) -> Task:
        """Record the function's result: the task is done."""
        ...

    def fail_task(self, lease: TaskLease, failure: Failure, delay: float | None) -> Task:
        """Record that the advance ended badly: due again in ``delay`` seconds, or failed.

        It fails for good with ``delay`` ``None`` or when the row's attempts are used up.
        """
        ...

    def block_task(self, lease: TaskLease, failure: Failure) -> Task:
        """Stop the task for an operator."""
        ...

    def reopen_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """Set a blocked or failed task going again, its attempts back to 0.

        Raises ``IllegalMove`` when it is neither.
        """
        ...

    def pause_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """Let no step and no advance of a task begin from here on; what runs may end.

        Raises ``IllegalMove`` when it is finished or paused already.
        """
        ...

    def unpause_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """Let a paused task go on; raises ``IllegalMove`` when it is not paused."""
        ...

    # -- steps -------------------------------------------------------------------------------
    def claim_step(
        self,
        step_id: StepId,
        worker: WorkerId,
        lease: float,
        tools: Collection[str] | None = None,
    ) -> StepLease | None:
        """Take a ready, due step: lease, token + 1, attempts + 1, ``tool_call_started`` at once.

        ``None`` when it is not ready, not due, its attempts are used up, its task is finished,
        or its tool is not among ``tools`` (the names a worker knows; ``None`` means all).
        """
        ...

    def mark(self, lease: StepLease, payload: NewArtifact) -> None:
        """Record ``payload_persisted``: from here recovery rolls forward without a call (D19)."""
        ...

    def finish(self, lease: StepLease, payload: NewArtifact) -> Settled:
        """Record the result: done, ``tool_result_persisted``, lease free, needs readied.

        ``payload_persisted`` is written too if ``mark`` did not. The task got on: its attempts
        go back to 1 if they were more.
        """
        ...

    def retry(self, lease: StepLease, failure: Failure, delay: float) -> Settled:
        """Record a failed attempt; the step is ready again, due in ``delay`` seconds."""
        ...

    def fail(self, lease: StepLease, failure: Failure) -> Settled:
        """Record a dead letter; steps that need it are cancelled with it."""
        ...

    def block(self, lease: StepLease, failure: Failure) -> Settled:
        """Record that the outcome is unknown: the step is uncertain (D1)."""
        ...

    def release(self, lease: StepLease) -> Settled:
        """Give a step back for a planned shutdown: ready at once, the attempt not counted (D16).

        For a step whose call did not begin, or may be repeated.
        """
        ...

    def keep_late(self, lease: StepLease, payload: NewArtifact) -> None:
        """Keep the result of an attempt that lost its lease as evidence: one event (D18)."""
        ...

    def requeue(self, step_id: StepId, by: str, why: str) -> Settled:
        """Set a failed step going again with a fresh cap of attempts, as an operator.

        A task that failed is reopened in the same transaction. Raises ``IllegalMove`` when the
        step is not failed, or its task is done or cancelled.
        """
        ...

    def settle(self, found: Step, ruling: Ruling) -> Settled:
        """Carry out a verdict on an uncertain step, with its event (D3).

        ``happened``: done, with the evidence as its result. ``did not happen``: ready again with
        fresh attempts, or failed when its task is over. ``abandon``: failed, and what needs it
        is cancelled. Raises ``IllegalMove`` when the step is not uncertain any more or was
        started again since it was read; ``BadInput`` for ``happened`` without evidence.
        """
        ...

    # -- leases and recovery -----------------------------------------------------------------
    def renew(
        self, worker: WorkerId, lease: float, steps: Collection[StepId], tasks: Collection[TaskId]
    ) -> Lost:
        """Move the end of this worker's leases to now + ``lease`` seconds.

        A step is renewed at most to its hard deadline. Returns those no longer held.
        """
        ...

    def owners(self) -> set[WorkerId]:
        """Return every worker that holds a lease now, live or not."""
        ...

    def orphans(self, dead: Collection[WorkerId], limit: int = 100) -> list[Step]:
        """Return running steps whose lease ended or whose owner is in ``dead``."""
        ...

    def recover(
        self, found: Step, decision: Decision, dead: Collection[WorkerId] = ()
    ) -> Settled | None:
        """Carry out the kernel's decision on an orphan; ``None`` if it moved since it was read.

        Roll forward finishes it under a token one higher, with the artifact it was marked with.
        """
        ...

    def recover_tasks(self, dead: Collection[WorkerId], limit: int = 100) -> list[Task]:
        """Take advances back whose lease ended or whose owner is dead: ready, or failed."""
        ...

    def due(
        self,
        limit: int = 1000,
        *,
        only: Collection[TaskId] | None = None,
        tools: Collection[str] | None = None,
        workflows: Collection[str] | None = None,
    ) -> Due:
        """Return what is ready and due, the longest due first.

        ``only`` names the tasks, ``tools`` and ``workflows`` what the asking worker knows: what
        it cannot do must not stand in the way of what it can.
        """
        ...
