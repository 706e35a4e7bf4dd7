"""The verbs on tasks, each one transaction's worth of SQL."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from keptstep.models.canonical import MAX_LITERAL
from keptstep.models.errors import BadInput, IllegalMove, KeyConflict, LeaseLost, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId, WorkerId
from keptstep.models.records import Failure, NewArtifact, NewTask, Task, TaskLease
from keptstep.models.states import TaskStatus, move_task
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.prepared import Prepared
from keptstep.models.stores.sql_changes import FINISHING, Log, error_columns, record, said
from keptstep.models.stores.sql_rows import CONVERSATION, EVENT, TASK, as_task

_BY_ID = Prepared(select(TASK).where(TASK.c.id == bindparam("task")))
_BY_KEY = select(TASK).where(TASK.c.key == bindparam("given"))
_FREE = {"owner": None, "lease_until": None}
_CLAIM = (
    update(TASK)
    .where(
        TASK.c.id == bindparam("task"),
        TASK.c.status == TaskStatus.READY,
        TASK.c.due_at <= bindparam("time"),
        TASK.c.attempts < TASK.c.max_attempts,
        TASK.c.paused_at.is_(None),
    )
    .values(
        status=TaskStatus.RUNNING,
        owner=bindparam("who"),
        token=TASK.c.token + 1,
        attempts=TASK.c.attempts + 1,
        lease_until=bindparam("until"),
    )
    .returning(*TASK.c)
)
_CLAIM_KNOWN = _CLAIM.where(TASK.c.workflow.in_(bindparam("known", expanding=True)))


def fenced(lease: TaskLease) -> Any:
    """Return the condition that a row still belongs to this advance."""
    return (
        (TASK.c.id == lease.task.id)
        & (TASK.c.token == lease.token)
        & (TASK.c.status == TaskStatus.RUNNING)
    )


def lost(lease: TaskLease) -> LeaseLost:
    """Say which advance is no longer the current one."""
    return LeaseLost(
        f"the advance of task {lease.task.id.hex()[-8:]} lost its lease (token {lease.token}): "
        "somebody else goes on with it"
    )


def check_literal(text: str | None) -> None:
    """Raise ``BadInput`` for an input that has to be an artifact (D49)."""
    if text is not None and len(text.encode("utf-8", "surrogatepass")) > MAX_LITERAL:
        raise BadInput(f"a literal input has at most {MAX_LITERAL} bytes: keep it as an artifact")


def submit(tx: Tx, new: NewTask) -> tuple[Task, bool]:
    """Insert a task and, where it is new, its conversation."""
    if new.key is not None:
        known = tx.connection.execute(_BY_KEY, {"given": new.key}).first()
        if known is not None:
            return _same(as_task(known), new), False
    if _BY_ID.run(tx.connection, task=new.id).first() is not None:
        raise BadInput(f"there is a task {new.id.hex()} already: give a new task a new id")
    check_literal(new.input)
    _open_conversation(tx, new)
    tx.connection.execute(
        insert(TASK).values(
            id=new.id,
            conversation_id=new.conversation_id,
            workflow=new.workflow,
            status=TaskStatus.READY,
            input=new.input,
            input_id=new.input_artifact.ref.id if new.input_artifact else None,
            input_sha=new.input_sha,
            key=new.key,
            token=0,
            attempts=0,
            max_attempts=new.max_attempts,
            due_at=tx.now,
            last_seq=0,
            created_at=tx.now,
        )
    )
    if new.input_artifact is not None:
        record(tx, new.id, new.input_artifact)
    log = Log(new.id)
    log.add(EventKind.TASK_SUBMITTED, workflow=new.workflow, input_sha=new.input_sha)
    log.write(tx)
    return read(tx, new.id), True


def claim(
    tx: Tx, task_id: TaskId, worker: WorkerId, lease: float, workflows: Collection[str] | None
) -> TaskLease | None:
    """Take a task's advance."""
    until = tx.now + lease
    given = {"task": task_id, "time": tx.now, "who": worker, "until": until}
    if workflows is None:
        row = tx.connection.execute(_CLAIM, given).first()
    else:
        row = tx.connection.execute(_CLAIM_KNOWN, given | {"known": list(workflows)}).first()
    if row is None:
        return None
    task = as_task(row)
    log = Log(task_id)
    log.add(EventKind.ADVANCE_STARTED, None, task.token, worker=worker, attempt=task.attempts)
    task = replace(task, last_seq=log.write(tx))
    return TaskLease(task, task.token, worker, until)


def leave(tx: Tx, lease: TaskLease, seen: int) -> Task:
    """Let go of an advance that waits."""
    unseen = select(EVENT.c.seq).where(
        EVENT.c.task_id == lease.task.id, EVENT.c.seq > seen, EVENT.c.kind.in_(FINISHING)
    )
    news = tx.connection.execute(unseen.limit(1)).first() is not None
    status = TaskStatus.READY if news else TaskStatus.WAITING
    _change(tx, lease, status=status, attempts=0, due_at=tx.now, **_FREE)
    return _told(tx, lease, EventKind.ADVANCE_LEFT)


def release(tx: Tx, lease: TaskLease) -> Task:
    """Give an advance back uncounted."""
    uncounted = {"attempts": TASK.c.attempts - 1, "due_at": tx.now}
    _change(tx, lease, status=TaskStatus.READY, **uncounted, **_FREE)
    return _told(tx, lease, EventKind.ADVANCE_LEFT, released=True)


def finish(tx: Tx, lease: TaskLease, result: NewArtifact) -> Task:
    """Record a task's result."""
    done = {"status": TaskStatus.DONE, "artifact_id": result.ref.id, "ended_at": tx.now}
    _change(tx, lease, **done, reason=None, **error_columns(None), **_FREE)
    record(tx, lease.task.id, result)
    return _told(tx, lease, EventKind.TASK_DONE, artifact=result.ref.id.hex(), sha=result.ref.sha)


def fail(tx: Tx, lease: TaskLease, failure: Failure, delay: float | None) -> Task:
    """Record an advance that ended badly."""
    why = {"reason": failure.reason, **error_columns(failure.error)}
    now = tx.connection.execute(select(TASK).where(fenced(lease))).first()
    if now is None:
        raise lost(lease)
    again = delay is not None and now.attempts < now.max_attempts
    if again:
        due_at = tx.now + (delay or 0.0)
        _change(tx, lease, status=TaskStatus.READY, due_at=due_at, **why, **_FREE)
    else:
        _change(tx, lease, status=TaskStatus.FAILED, ended_at=tx.now, **why, **_FREE)
    if failure.text is not None:
        record(tx, lease.task.id, failure.text)
    kind = EventKind.ADVANCE_FAILED if again else EventKind.TASK_FAILED
    return _told(tx, lease, kind, **said(failure))


def block(tx: Tx, lease: TaskLease, failure: Failure) -> Task:
    """Stop a task for an operator."""
    why = {"reason": failure.reason, **error_columns(failure.error)}
    _change(tx, lease, status=TaskStatus.BLOCKED, **why, **_FREE)
    if failure.text is not None:
        record(tx, lease.task.id, failure.text)
    return _told(tx, lease, EventKind.TASK_BLOCKED, **said(failure))


def reopen(tx: Tx, task_id: TaskId, by: str, why: str) -> Task:
    """Set a blocked or failed task going again."""
    task = read(tx, task_id)
    if task.status not in (TaskStatus.BLOCKED, TaskStatus.FAILED):
        raise IllegalMove(
            f"task {task_id.hex()[-8:]} is {task.status}: there is nothing to reopen"
        )
    move_task(task.status, TaskStatus.READY)
    tx.connection.execute(
        update(TASK)
        .where(TASK.c.id == task_id)
        .values(
            status=TaskStatus.READY,
            attempts=0,
            due_at=tx.now,
            ended_at=None,
            reason=None,
            **error_columns(None),
        )
    )
    log = Log(task_id)
    log.add(EventKind.TASK_REOPENED, by=by, why=why)
    log.write(tx)
    return read(tx, task_id)


def read(tx: Tx, task_id: TaskId) -> Task:
    """Return one task as the transaction sees it."""
    row = _BY_ID.run(tx.connection, task=task_id).first()
    if row is None:
        raise NotFound(f"there is no task {task_id.hex()}")
    return as_task(row)


def _same(task: Task, new: NewTask) -> Task:
    if (task.workflow, task.input_sha) != (new.workflow, new.input_sha):
        raise KeyConflict(
            f"the key {new.key!r} was used before for task {task.id.hex()[-8:]} with another "
            "workflow or input: use a new key, or the same input"
        )
    return task


def _open_conversation(tx: Tx, new: NewTask) -> None:
    found = tx.connection.execute(
        select(CONVERSATION.c.deleting).where(CONVERSATION.c.id == new.conversation_id)
    ).first()
    if found is None:
        row = {"id": new.conversation_id, "created_at": tx.now}
        tx.connection.execute(insert(CONVERSATION).values(**row))
    elif found.deleting is not None:
        raise NotFound(f"conversation {new.conversation_id.hex()} is being deleted")


def _change(tx: Tx, lease: TaskLease, **values: Any) -> None:
    done = tx.connection.execute(update(TASK).where(fenced(lease)).values(**values))
    if done.rowcount != 1:
        raise lost(lease)


def _told(tx: Tx, lease: TaskLease, kind: EventKind, **data: Any) -> Task:
    log = Log(lease.task.id)
    log.add(kind, None, lease.token, **data)
    log.write(tx)
    return read(tx, lease.task.id)
