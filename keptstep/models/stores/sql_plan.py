"""Planning: new steps of an advance, and what becomes of steps when one they need ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from keptstep.models.errors import BadInput, DuplicateStep
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, TaskId
from keptstep.models.records import Bell, NewStep, Step, TaskLease
from keptstep.models.states import STEP_FINISHED, StepStatus, TaskStatus
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.prepared import Prepared
from keptstep.models.stores.sql_changes import Log, record
from keptstep.models.stores.sql_rows import NEED, STEP, TASK, as_step, chunks, ids
from keptstep.models.stores.sql_tasks import check_literal, lost

_NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_INSERT = Prepared(
    insert(STEP),
    [
        "id",
        "task_id",
        "position",
        "name",
        "tool",
        "artifact_class",
        "effect",
        "status",
        "input",
        "input_id",
        "input_sha",
        "attempts",
        "max_attempts",
        "deadline",
        "token",
        "due_at",
        "reason",
    ],
)
_WELL = Prepared(
    update(TASK)
    .where(
        TASK.c.id == bindparam("task"),
        TASK.c.token == bindparam("held"),
        TASK.c.status == TaskStatus.RUNNING,
    )
    .values(attempts=1)
)
_STATUSES = select(STEP.c.id, STEP.c.status, STEP.c.task_id).where(
    STEP.c.id.in_(bindparam("wanted", expanding=True))
)
_TAKEN = select(STEP.c.name).where(
    STEP.c.task_id == bindparam("task"), STEP.c.name.in_(bindparam("names", expanding=True))
)
_NEXT_POSITION = Prepared(
    select(func.coalesce(func.max(STEP.c.position), 0) + 1).where(
        STEP.c.task_id == bindparam("task")
    )
)
_PLANNED = Prepared(
    select(STEP)
    .where(STEP.c.task_id == bindparam("task"), STEP.c.position >= bindparam("first"))
    .order_by(STEP.c.position)
)
_DEPENDENTS = Prepared(
    select(NEED.c.step_id)
    .join(STEP, STEP.c.id == NEED.c.step_id)
    .where(NEED.c.needs_id == bindparam("need"), STEP.c.status == StepStatus.PENDING)
    .order_by(STEP.c.position)
)
_OTHER = STEP.alias("other")
_UNMET = (
    select(NEED.c.step_id)
    .join(_OTHER, _OTHER.c.id == NEED.c.needs_id)
    .where(NEED.c.step_id == STEP.c.id, _OTHER.c.status != StepStatus.DONE)
    .exists()
)
_READY = (
    update(STEP)
    .where(
        STEP.c.id.in_(bindparam("waiting", expanding=True)),
        STEP.c.status == StepStatus.PENDING,
        ~_UNMET,
    )
    .values(status=StepStatus.READY, due_at=bindparam("time"))
    .returning(STEP.c.id, STEP.c.tool)
)
_CANCEL = (
    update(STEP)
    .where(STEP.c.id == bindparam("which"), STEP.c.status == StepStatus.PENDING)
    .values(status=StepStatus.CANCELLED, reason=bindparam("said"))
)


def plan(tx: Tx, lease: TaskLease, steps: Sequence[NewStep], max_steps: int) -> list[Step]:
    """Insert new steps of an advance."""
    task_id = lease.task.id
    if _WELL.run(tx.connection, task=task_id, held=lease.token).rowcount != 1:
        raise lost(lease)
    if not steps:
        return []
    first = int(_NEXT_POSITION.run(tx.connection, task=task_id).scalar())
    _check(tx, task_id, steps, first, max_steps)
    needed = _needed(tx, task_id, steps)
    log = Log(task_id)
    rows = [_row(tx, task_id, first + place, new, needed, log) for place, new in enumerate(steps)]
    try:
        _INSERT.run_many(tx.connection, rows)
    except tx.integrity_error:
        raise _refused(tx, task_id, steps) from None
    needs = [{"step_id": new.id, "needs_id": need} for new in steps for need in set(new.needs)]
    if needs:
        tx.connection.execute(insert(NEED), needs)
    for new in steps:
        if new.input_artifact is not None:
            record(tx, task_id, new.input_artifact)
    log.write(tx)
    found = _PLANNED.run(tx.connection, task=task_id, first=first)
    rows_and_news = zip(found.all(), steps, strict=True)
    return [as_step(row, sorted(set(new.needs))) for row, new in rows_and_news]


def ready_dependents(tx: Tx, done: StepId, log: Log) -> tuple[Bell, ...]:
    """Make the steps ready whose last need was ``done``."""
    waiting = ids(_DEPENDENTS.run(tx.connection, need=done).scalars())
    moved: dict[bytes, str] = {}
    for some in chunks(waiting):
        rows = tx.connection.execute(_READY, {"waiting": some, "time": tx.now})
        moved.update((row.id, row.tool) for row in rows)
    readied = [Bell(step_id, moved[step_id]) for step_id in waiting if step_id in moved]
    for bell in readied:
        log.add(EventKind.STEP_READIED, bell.step_id)
    return tuple(readied)


def cancel_dependents(tx: Tx, ended: StepId, name: str, log: Log) -> None:
    """Cancel, through all generations, the pending steps that need one that will not be done."""
    todo = [ended]
    said = f"it needs step {name}, which is not going to be done"
    while todo:
        for step_id in ids(_DEPENDENTS.run(tx.connection, need=todo.pop()).scalars()):
            done = tx.connection.execute(_CANCEL, {"which": step_id, "said": said})
            if done.rowcount:
                log.add(EventKind.STEP_CANCELLED, step_id, reason=said)
                todo.append(step_id)


def _check(tx: Tx, task_id: TaskId, steps: Sequence[NewStep], first: int, max_steps: int) -> None:
    for new in steps:
        if not _NAME.fullmatch(new.name):
            raise BadInput(
                f"{new.name[:40]!r} cannot be a step's name: use 1 to 128 of A-Z a-z 0-9 . _ : -"
            )
        check_literal(new.input)
    names = Counter(new.name for new in steps)
    twice = {name for name, times in names.items() if times > 1}
    if twice:
        raise DuplicateStep(f"the task has a step named {min(twice)} already")
    if first - 1 + len(steps) > max_steps:
        raise BadInput(f"a task may have {max_steps} steps and this one would have more")


def _refused(tx: Tx, task_id: TaskId, steps: Sequence[NewStep]) -> BadInput:
    """Say why the rows of new steps did not go in: a name or an id that exists."""
    for some in chunks([new.name for new in steps]):
        taken = tx.connection.execute(_TAKEN, {"task": task_id, "names": some}).scalars().all()
        if taken:
            return DuplicateStep(f"the task has a step named {min(taken)} already")
    return BadInput("a step with one of these ids exists already")


def _needed(tx: Tx, task_id: TaskId, steps: Sequence[NewStep]) -> dict[StepId, StepStatus]:
    """Return the status of every need; raises ``BadInput`` for one that does not come earlier."""
    wanted = list({need for new in steps for need in new.needs})
    statuses = {
        StepId(row.id): StepStatus(row.status)
        for some in chunks(wanted)
        for row in tx.connection.execute(_STATUSES, {"wanted": some})
        if row.task_id == task_id
    }
    seen = set(statuses)
    for new in steps:
        if not set(new.needs) <= seen:
            raise BadInput(f"step {new.name} needs a step that does not come before it")
        seen.add(new.id)
    return statuses


def _row(
    tx: Tx,
    task_id: TaskId,
    position: int,
    new: NewStep,
    needed: dict[StepId, StepStatus],
    log: Log,
) -> dict[str, Any]:
    status, reason = _first_status(new, needed)
    needed[new.id] = status
    log.add(
        EventKind.STEP_PLANNED,
        new.id,
        name=new.name,
        tool=new.tool,
        effect=new.effect,
        artifact_class=int(new.artifact_class),
    )
    if status is StepStatus.CANCELLED:
        log.add(EventKind.STEP_CANCELLED, new.id, reason=reason)
    return {
        "id": new.id,
        "task_id": task_id,
        "position": position,
        "name": new.name,
        "tool": new.tool,
        "artifact_class": int(new.artifact_class),
        "effect": new.effect,
        "status": status,
        "input": new.input,
        "input_id": new.input_artifact.ref.id if new.input_artifact else None,
        "input_sha": new.input_sha,
        "attempts": 0,
        "max_attempts": new.max_attempts,
        "deadline": new.deadline,
        "token": 0,
        "due_at": tx.now,
        "reason": reason,
    }


def _first_status(new: NewStep, needed: dict[StepId, StepStatus]) -> tuple[StepStatus, str | None]:
    statuses = {needed[need] for need in new.needs}
    if statuses & (STEP_FINISHED - {StepStatus.DONE}):
        return StepStatus.CANCELLED, "it needs a step that is not going to be done"
    unmet = statuses - {StepStatus.DONE}
    return (StepStatus.PENDING if unmet else StepStatus.READY), None
