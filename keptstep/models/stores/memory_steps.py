"""The in-memory store's verbs on steps: the claim, and every way an attempt ends."""

from __future__ import annotations

from collections.abc import Collection

from keptstep.models.errors import IllegalMove, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, TaskId, WorkerId, short
from keptstep.models.records import (
    Attempt,
    Failure,
    Kept,
    NewArtifact,
    Settled,
    Step,
    StepLease,
)
from keptstep.models.states import TASK_FINISHED, StepStatus, TaskStatus
from keptstep.models.stores.memory_data import (
    Change,
    MemoryBase,
    ref_facts,
    told,
    used_up,
)
from keptstep.models.stores.memory_plan import cancel_dependants, ready_dependants
from keptstep.models.stores.memory_tasks import reopen


class StepVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def claim_step(
        self,
        step_id: StepId,
        worker: WorkerId,
        lease: float,
        tools: Collection[str] | None = None,
    ) -> StepLease | None:
        """Take a ready, due step whose attempts are not used up; its start is an event at once."""
        with self._change() as change:
            step = change.tables.steps.get(step_id)
            if step is None or not change.claimable_step(step):
                return None
            if tools is not None and step.tool not in tools:
                return None
            until = change.now + min(lease, step.deadline)
            return _start(change, step, worker, until)

    def mark(self, lease: StepLease, payload: NewArtifact) -> None:
        """Record that the payload is kept; the same payload again is no second event."""
        with self._change() as change:
            _persist(change, change.held_step(lease), lease.token, payload)

    def finish(self, lease: StepLease, payload: NewArtifact) -> Settled:
        """Record the result and ready what waited for it."""
        with self._change() as change:
            step = change.held_step(lease)
            _persist(change, step, lease.token, payload)
            change.log_step(
                step, EventKind.TOOL_RESULT_PERSISTED, lease.token, **ref_facts(payload.ref)
            )
            change.end_attempt(step.id, "done")
            return settle_done(change, step.id)

    def retry(self, lease: StepLease, failure: Failure, delay: float) -> Settled:
        """Record a failed attempt; ready again in ``delay`` seconds."""
        with self._change() as change:
            step = change.held_step(lease)
            if step.attempts >= step.max_attempts:
                raise used_up(step)
            change.record(step.task_id, failure.text)
            due_at = change.now + delay
            changed = change.free_step(
                step.id,
                StepStatus.READY,
                due_at=due_at,
                reason=failure.reason,
                error=failure.error,
            )
            change.end_attempt(step.id, "failed", failure.error)
            change.log_step(
                step,
                EventKind.STEP_RETRY,
                lease.token,
                due_at=due_at,
                **told(failure.reason, failure.error),
            )
            return Settled(changed)

    def fail(self, lease: StepLease, failure: Failure) -> Settled:
        """Record a dead letter and cancel what needs it."""
        with self._change() as change:
            step = change.held_step(lease)
            change.record(step.task_id, failure.text)
            change.end_attempt(step.id, "failed", failure.error)
            return settle_failed(change, step, failure.reason, failure.error)

    def block(self, lease: StepLease, failure: Failure) -> Settled:
        """Record that the outcome is unknown (D1)."""
        with self._change() as change:
            step = change.held_step(lease)
            change.record(step.task_id, failure.text)
            change.end_attempt(step.id, "uncertain", failure.error)
            return settle_uncertain(change, step, failure.reason, failure.error)

    def release(self, lease: StepLease) -> Settled:
        """Give a step back uncounted, before its call began (D16)."""
        with self._change() as change:
            step = change.held_step(lease)
            changed = change.free_step(
                step.id, StepStatus.READY, attempts=step.attempts - 1, due_at=change.now
            )
            change.end_attempt(step.id, "released")
            change.log_step(step, EventKind.STEP_RELEASED, lease.token)
            return Settled(changed)

    def keep_late(self, lease: StepLease, payload: NewArtifact) -> None:
        """Keep a fenced attempt's result as evidence (D18)."""
        with self._change() as change:
            step = change.tables.steps.get(lease.step.id)
            if step is not None:
                change.record(step.task_id, payload)
                change.log_step(step, EventKind.LATE_RESULT, lease.token, **ref_facts(payload.ref))

    def requeue(self, step_id: StepId, by: str, why: str) -> Settled:
        """Set a failed step going again with fresh attempts."""
        with self._change() as change:
            step = change.tables.steps.get(step_id)
            if step is None:
                raise NotFound(f"there is no step {short(step_id)}")
            status = change.tables.tasks[step.task_id].status
            _check_requeue(step, status)
            if status is TaskStatus.FAILED:
                reopen(change, step.task_id, by, why)
            changed = change.set_step(
                step_id,
                status=StepStatus.READY,
                attempts=0,
                due_at=change.now,
                reason=None,
                error=None,
            )
            change.log_step(step, EventKind.STEP_REQUEUED, step.token, by=by, why=why)
            return Settled(changed, (), status is TaskStatus.FAILED)


def settle_done(change: Change, step_id: StepId) -> Settled:
    """Move a step to done with the artifact it was marked with; tell who waited."""
    done = change.free_step(step_id, StepStatus.DONE, reason=None, error=None)
    readied = ready_dependants(change, step_id)
    return Settled(done, readied, wake(change, done.task_id, progress=True))


def settle_failed(change: Change, step: Step, reason: str, error: Kept | None) -> Settled:
    """Move a step to failed; cancel what needs it and tell the task."""
    failed = change.free_step(step.id, StepStatus.FAILED, reason=reason, error=error)
    change.log_step(step, EventKind.STEP_FAILED, step.token, **told(reason, error))
    cancel_dependants(change, step)
    return Settled(failed, (), wake(change, step.task_id))


def settle_uncertain(change: Change, step: Step, reason: str, error: Kept | None) -> Settled:
    """Move a step to uncertain; what needs it goes on waiting."""
    blocked = change.free_step(step.id, StepStatus.UNCERTAIN, reason=reason, error=error)
    change.log_step(step, EventKind.STEP_UNCERTAIN, step.token, **told(reason, error))
    return Settled(blocked)


def wake(change: Change, task_id: TaskId, *, progress: bool = False) -> bool:
    """Make a waiting task's advance due; return whether somebody has to be told.

    With ``progress`` the task got on: the advances that ended badly before count no more.
    """
    task = change.tables.tasks[task_id]
    if progress and task.attempts > 1:
        task = change.set_task(task_id, attempts=1)
    if task.status is TaskStatus.WAITING:
        task = change.set_task(task_id, status=TaskStatus.READY, due_at=change.now)
    return task.status in {TaskStatus.READY, TaskStatus.RUNNING}


def _start(change: Change, step: Step, worker: WorkerId, until: float) -> StepLease:
    token = step.token + 1
    started = change.set_step(
        step.id,
        status=StepStatus.RUNNING,
        owner=worker,
        token=token,
        lease_until=until,
        attempts=step.attempts + 1,
        started_at=change.now,
        artifact_id=None,
    )
    earlier = change.tables.attempts.get(step.id, ())
    attempt = Attempt(step.id, len(earlier) + 1, worker, token, change.now, None, None, None)
    change.put(change.tables.attempts, step.id, (*earlier, attempt))
    change.log_step(
        step,
        EventKind.TOOL_CALL_STARTED,
        token,
        attempt=attempt.n,
        worker=worker,
        input_sha=step.input_sha,
        deadline=step.deadline,
    )
    return StepLease(started, token, worker, until)


def _persist(change: Change, step: Step, token: int, payload: NewArtifact) -> None:
    change.record(step.task_id, payload)
    if step.artifact_id != payload.ref.id:
        change.set_step(step.id, artifact_id=payload.ref.id)
        change.log_step(
            step,
            EventKind.PAYLOAD_PERSISTED,
            token,
            size=payload.ref.size,
            **ref_facts(payload.ref),
        )


def _check_requeue(step: Step, task_status: TaskStatus) -> None:
    if step.status is not StepStatus.FAILED:
        raise IllegalMove(
            f"step {step.name} is {step.status}: only a failed step can be set going again"
        )
    if task_status in TASK_FINISHED - {TaskStatus.FAILED}:
        raise IllegalMove(
            f"the task of step {step.name} is {task_status}: nothing would use the step"
        )
