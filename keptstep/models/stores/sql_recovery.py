"""Leases that are renewed, and what is left by those whose holder is gone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, assert_never

from sqlalchemy import Table, literal_column, or_, select, update

from keptstep.models.decisions import Block, Decision, Fail, LeaveAlone, Run
from keptstep.models.errors import IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.ids import ArtifactId, StepId, TaskId, WorkerId
from keptstep.models.records import Lost, Settled, Step, Task
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.sql_changes import Log, error_columns
from keptstep.models.stores.sql_failures import settle_failed
from keptstep.models.stores.sql_rows import ARTIFACT, STEP, TASK, as_step, as_task, chunks
from keptstep.models.stores.sql_steps import FREE, end_attempt, settle_done


def renew(
    tx: Tx,
    worker: WorkerId,
    lease: float,
    steps: Collection[StepId],
    tasks: Collection[TaskId],
) -> Lost:
    """Move the ends of a worker's leases."""
    gone_steps = set(steps)
    for row in _held(tx, STEP, worker, steps):
        gone_steps.discard(StepId(row.id))
        until = min(tx.now + lease, row.started_at + row.deadline)
        _extend(tx, STEP, row, until)
    gone_tasks = set(tasks)
    for row in _held(tx, TASK, worker, tasks):
        gone_tasks.discard(TaskId(row.id))
        _extend(tx, TASK, row, tx.now + lease)
    return Lost(frozenset(gone_steps), frozenset(gone_tasks))


def orphaned(table: Table, now: float, dead: Collection[WorkerId]) -> Any:
    """Return the condition that a row's holder is gone."""
    gone = or_(table.c.lease_until <= now, table.c.owner.in_(list(dead)))
    return (table.c.status == literal_column("'running'")) & gone


def recover(tx: Tx, found: Step, decision: Decision, dead: Collection[WorkerId]) -> Settled | None:
    """Carry out the kernel's decision if the step is still as it was found."""
    match decision:
        case LeaveAlone():
            return None
        case Run(reason=reason, roll_forward=True):
            return _roll_forward(tx, found, reason, dead)
        case Run(reason=reason):
            if found.attempts >= found.max_attempts:
                raise IllegalMove(f"step {found.name} has no attempt left: it can only fail")
            step = _take(tx, found, dead, None, status=StepStatus.READY, due_at=tx.now)
            return None if step is None else _note(tx, step, EventKind.STEP_RECLAIMED, reason)
        case Block(reason=reason):
            said = {"status": StepStatus.UNCERTAIN, "reason": reason} | error_columns(None)
            step = _take(tx, found, dead, None, **said)
            return None if step is None else _note(tx, step, EventKind.STEP_UNCERTAIN, reason)
        case Fail(reason=reason):
            said = {"status": StepStatus.FAILED, "reason": reason} | error_columns(None)
            step = _take(tx, found, dead, None, **said)
            return (
                None if step is None else settle_failed(tx, step, found.token, {"reason": reason})
            )
        case _:
            assert_never(decision)


def recover_tasks(tx: Tx, dead: Collection[WorkerId], limit: int) -> list[Task]:
    """Take advances back whose holder is gone."""
    gone = select(TASK).where(orphaned(TASK, tx.now, dead))
    query = gone.order_by(TASK.c.lease_until, TASK.c.id)
    found = [as_task(row) for row in tx.connection.execute(query.limit(limit))]
    return [_recover_task(tx, task, dead) for task in found]


def _recover_task(tx: Tx, task: Task, dead: Collection[WorkerId]) -> Task:
    how = "died" if task.owner in dead else "let its lease end"
    used_up = task.attempts >= task.max_attempts
    reason = f"worker {task.owner} {how} in advance {task.attempts} of {task.max_attempts}"
    values: dict[str, Any] = {"status": TaskStatus.READY, "due_at": tx.now}
    if used_up:
        values = {"status": TaskStatus.FAILED, "ended_at": tx.now, "reason": reason}
        values |= error_columns(None)
    row = tx.connection.execute(
        update(TASK).where(TASK.c.id == task.id).values(**values, **FREE).returning(*TASK.c)
    ).one()
    kind = EventKind.TASK_FAILED if used_up else EventKind.ADVANCE_RECLAIMED
    log = Log(task.id)
    log.add(kind, None, task.token, reason=reason)
    return replace(as_task(row), last_seq=log.write(tx))


def _roll_forward(tx: Tx, found: Step, reason: str, dead: Collection[WorkerId]) -> Settled | None:
    if found.artifact_id is None:
        raise IllegalMove(f"step {found.name} has no kept payload to roll forward with")
    done = {"status": StepStatus.DONE, "token": STEP.c.token + 1, "reason": None}
    values = done | error_columns(None)
    step = _take(tx, found, dead, "done", **values)
    if step is None:
        return None
    sha = _sha(tx, step.artifact_id)
    return settle_done(tx, step, found.token, Log(step.task_id), sha=sha, rolled_forward=True)


def _take(
    tx: Tx, found: Step, dead: Collection[WorkerId], outcome: str | None, **values: Any
) -> Step | None:
    """Take a step from its gone holder, unless it moved since it was read."""
    # A payload marked meanwhile makes it another case: the next look rolls it forward.
    same = (
        (STEP.c.id == found.id)
        & (STEP.c.token == found.token)
        & STEP.c.artifact_id.is_not_distinct_from(found.artifact_id)
        & orphaned(STEP, tx.now, dead)
    )
    statement = update(STEP).where(same).values(**values, **FREE).returning(*STEP.c)
    row = tx.connection.execute(statement).first()
    if row is None:
        return None
    gone = "died" if found.owner in dead else "expired"
    end_attempt(tx, found.id, found.token, outcome or gone)
    return as_step(row, found.needs)


def _note(tx: Tx, step: Step, kind: EventKind, reason: str) -> Settled:
    log = Log(step.task_id)
    log.add(kind, step.id, step.token, reason=reason)
    log.write(tx)
    return Settled(step)


def _held(tx: Tx, table: Table, worker: WorkerId, wanted: Collection[bytes]) -> list[Any]:
    mine = (table.c.owner == worker) & (table.c.status == "running")
    rows: list[Any] = []
    for some in chunks(list(wanted)):
        rows.extend(tx.connection.execute(select(table).where(mine, table.c.id.in_(some))))
    return rows


def _extend(tx: Tx, table: Table, row: Any, until: float) -> None:
    if until > row.lease_until:
        values = update(table).where(table.c.id == row.id).values(lease_until=until)
        tx.connection.execute(values)


def _sha(tx: Tx, artifact_id: ArtifactId | None) -> str | None:
    query = select(ARTIFACT.c.sha).where(ARTIFACT.c.id == artifact_id)
    return tx.connection.execute(query).scalar()
