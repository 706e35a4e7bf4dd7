"""Pausing a task: nothing of it is begun until it is set going again."""

from __future__ import annotations

from sqlalchemy import update

from keptstep.models.errors import IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId, short
from keptstep.models.records import Task
from keptstep.models.states import TASK_FINISHED
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.sql_changes import Log
from keptstep.models.stores.sql_rows import TASK
from keptstep.models.stores.sql_tasks import read


def pause(tx: Tx, task_id: TaskId, by: str, why: str) -> Task:
    """Let nothing of a task begin from here on."""
    task = read(tx, task_id)
    if task.status in TASK_FINISHED or task.paused_at is not None:
        how = "paused" if task.paused_at is not None else task.status
        raise IllegalMove(f"task {short(task_id)} is {how} already: there is nothing to pause")
    return _set(tx, task, tx.now, EventKind.TASK_PAUSED, by, why)


def unpause(tx: Tx, task_id: TaskId, by: str, why: str) -> Task:
    """Let a paused task go on."""
    task = read(tx, task_id)
    if task.paused_at is None:
        raise IllegalMove(f"task {short(task_id)} is not paused")
    return _set(tx, task, None, EventKind.TASK_UNPAUSED, by, why)


def _set(tx: Tx, task: Task, at: float | None, kind: EventKind, by: str, why: str) -> Task:
    tx.connection.execute(update(TASK).where(TASK.c.id == task.id).values(paused_at=at))
    log = Log(task.id)
    log.add(kind, by=by, why=why)
    log.write(tx)
    return read(tx, task.id)
