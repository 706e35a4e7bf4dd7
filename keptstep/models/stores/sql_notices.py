"""The outbox of notices: written in the transaction of the event they tell of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from keptstep.models.events import TELLING, worth_telling
from keptstep.models.ids import StepId, TaskId, notice_id
from keptstep.models.records import Notice
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.sql_rows import NOTICE, STEP, TASK

#: Seconds after which nobody wants to be told any more, where no hook is set.
KEPT = 30 * 86_400.0


def add_notices(tx: Tx, events: Sequence[Mapping[str, Any]]) -> None:
    """Add a notice for each event that a person is told of."""
    for event in events:
        data = json.loads(event["data"]) if event["kind"] in TELLING else {}
        if worth_telling(event["kind"], data):
            _add(tx, event, str(data.get("reason", "")))


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


def _add(tx: Tx, event: Mapping[str, Any], reason: str) -> None:
    tx.connection.execute(delete(NOTICE).where(NOTICE.c.due_at < tx.now - KEPT))
    tx.connection.execute(
        insert(NOTICE).values(
            id=notice_id(event["task_id"], event["seq"]),
            task_id=event["task_id"],
            step_id=event["step_id"],
            kind=event["kind"],
            reason=reason,
            at=tx.now,
            due_at=tx.now,
            attempts=0,
        )
    )


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
