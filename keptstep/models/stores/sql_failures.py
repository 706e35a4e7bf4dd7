"""The verbs of an attempt that left no result: failed, uncertain, and set going again."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, update

from keptstep.models.errors import IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId
from keptstep.models.records import Failure, Settled, Step, StepLease
from keptstep.models.states import TASK_FINISHED, StepStatus, TaskStatus, move_step
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.sql_changes import Log, error_columns, record, said, wake
from keptstep.models.stores.sql_plan import cancel_dependents
from keptstep.models.stores.sql_rows import STEP, TASK
from keptstep.models.stores.sql_steps import change, end_attempt, read
from keptstep.models.stores.sql_tasks import reopen


def retry(tx: Tx, lease: StepLease, failure: Failure, delay: float) -> Settled:
    """Record a failed attempt that another follows."""
    due_at = tx.now + delay
    step = _failed(tx, lease, failure, StepStatus.READY, "failed", due_at=due_at)
    if step.attempts >= step.max_attempts:
        raise IllegalMove(f"step {step.name} has no attempt left: it can only fail")
    log = Log(step.task_id)
    log.add(EventKind.STEP_RETRY, step.id, lease.token, due_at=due_at, **said(failure))
    log.write(tx)
    return Settled(step)


def fail(tx: Tx, lease: StepLease, failure: Failure) -> Settled:
    """Record a dead letter."""
    step = _failed(tx, lease, failure, StepStatus.FAILED, "failed")
    return settle_failed(tx, step, lease.token, said(failure))


def settle_failed(tx: Tx, step: Step, token: int, facts: dict[str, Any]) -> Settled:
    """Write what follows a failed step: its event, cancelled dependents, the task's wake."""
    log = Log(step.task_id)
    log.add(EventKind.STEP_FAILED, step.id, token, **facts)
    cancel_dependents(tx, step.id, step.name, log)
    due = wake(tx, step.task_id)
    log.write(tx)
    return Settled(step, (), due)


def block(tx: Tx, lease: StepLease, failure: Failure) -> Settled:
    """Record that the outcome is not known."""
    step = _failed(tx, lease, failure, StepStatus.UNCERTAIN, "uncertain")
    log = Log(step.task_id)
    log.add(EventKind.STEP_UNCERTAIN, step.id, lease.token, **said(failure))
    log.write(tx)
    return Settled(step)


def requeue(tx: Tx, step_id: StepId, by: str, why: str) -> Settled:
    """Set a dead letter going again, and its task with it if that failed."""
    step = read(tx, step_id)
    if step.status is not StepStatus.FAILED:
        raise IllegalMove(f"step {step.name} is {step.status}: only a failed one can be requeued")
    move_step(step.status, StepStatus.READY)
    query = select(TASK.c.status).where(TASK.c.id == step.task_id)
    status = TaskStatus(tx.connection.execute(query).scalar_one())
    if status is TaskStatus.FAILED:
        # In one transaction: a worker that took the task first would be told of the failure again.
        reopen(tx, step.task_id, by, why)
    elif status in TASK_FINISHED:
        raise IllegalMove(f"the task of step {step.name} is {status}: nothing would use the step")
    fresh = {"status": StepStatus.READY, "attempts": 0, "due_at": tx.now, "reason": None}
    tx.connection.execute(
        update(STEP).where(STEP.c.id == step_id).values(**fresh, **error_columns(None))
    )
    log = Log(step.task_id)
    log.add(EventKind.STEP_REQUEUED, step_id, step.token, by=by, why=why)
    log.write(tx)
    return Settled(read(tx, step_id), (), status is TaskStatus.FAILED)


def _failed(
    tx: Tx, lease: StepLease, failure: Failure, status: StepStatus, outcome: str, **more: Any
) -> Step:
    why = {"reason": failure.reason, **error_columns(failure.error)}
    step = change(tx, lease, status=status, **why, **more)
    if failure.text is not None:
        record(tx, step.task_id, failure.text)
    end_attempt(tx, step.id, lease.token, outcome, failure)
    return step
