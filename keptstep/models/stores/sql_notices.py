"""The outbox of notices: written in the transaction of the event they tell of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, TaskId, notice_id
from keptstep.models.records import Notice
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.sql_rows import NOTICE, STEP, TASK

#: Seconds after which nobody wants to be told any more, where no hook is set.
KEPT = 30 * 86_400.0


def add_notice(
    tx: Tx,
    event: tuple[TaskId, int],
    step_id: StepId | None,
    kind: EventKind,
    data: Mapping[str, Any],
) -> None:
    """Add the notice of an event, which is named by its task and number."""
    tx.connection.execute(delete(NOTICE).where(NOTICE.c.due_at < tx.now - KEPT))
    tx.connection.execute(
        insert(NOTICE).values(
            id=notice_id(*event),
            task_id=event[0],
            step_id=step_id,
            kind=kind,
            reason=str(data.get("reason", "")),
            at=tx.now,
            due_at=tx.now,
            attempts=0,
        )
    )


def any_due(connection: Connection, now: float) -> bool:
    """Whether a notice is due."""
    query = select(NOTICE.c.id).where(NOTICE.c.due_at <= now).limit(1)
    return connection.execute(query).first() is not None


def claim(tx: Tx, limit: int, lease: float) -> list[Notice]:
    """Take due notices, oldest first, for ``lease`` seconds."""
    due = select(NOTICE.c.id).where(NOTICE.c.due_at <= tx.now).order_by(NOTICE.c.at, NOTICE.c.id)
    wanted = tx.connection.execute(due.limit(limit)).scalars().all()
    claimed = update(NOTICE).where(NOTICE.c.id.in_(wanted))
    tx.connection.execute(claimed.values(due_at=tx.now + lease, attempts=NOTICE.c.attempts + 1))
    query = (
        select(NOTICE, TASK.c.workflow, STEP.c.name)
        .join(TASK, TASK.c.id == NOTICE.c.task_id)
        .outerjoin(STEP, STEP.c.id == NOTICE.c.step_id)
        .where(NOTICE.c.id.in_(wanted))
        .order_by(NOTICE.c.at, NOTICE.c.id)
    )
    return [_read(row, tx.now) for row in tx.connection.execute(query)]


def sent(tx: Tx, notice: Notice) -> None:
    """Forget a notice that was told."""
    tx.connection.execute(delete(NOTICE).where(_mine(notice)))


def failed(tx: Tx, notice: Notice, delay: float | None) -> None:
    """Make a notice due again, or forget it."""
    if delay is None:
        sent(tx, notice)
    else:
        again = update(NOTICE).where(_mine(notice)).values(due_at=tx.now + delay)
        tx.connection.execute(again)


def _mine(notice: Notice) -> Any:
    return (NOTICE.c.id == notice.id) & (NOTICE.c.attempts == notice.attempts)


def _read(row: Any, now: float) -> Notice:
    return Notice(
        id=row.id,
        kind=row.kind,
        at=row.at,
        claimed_at=now,
        attempts=row.attempts,
        task_id=TaskId(row.task_id),
        workflow=row.workflow,
        step_id=StepId(row.step_id) if row.step_id else None,
        step=row.name,
        reason=row.reason,
    )
