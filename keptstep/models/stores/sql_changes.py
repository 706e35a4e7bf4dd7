"""What every change has in common: numbered events, recorded artifacts, tasks that are woken."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from keptstep.models.errors import BadInput, LeaseLost
from keptstep.models.events import EventKind, worth_telling
from keptstep.models.ids import StepId, TaskId
from keptstep.models.records import Failure, Kept, NewArtifact
from keptstep.models.states import TASK_UNFINISHED, TaskStatus
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.prepared import Prepared, one_of
from keptstep.models.stores.sql_notices import add_notice
from keptstep.models.stores.sql_rows import ARTIFACT, EVENT, HOLDER, SOURCE, STEP, TASK

_NUMBERS = Prepared(
    update(TASK)
    .where(TASK.c.id == bindparam("task"))
    .values(last_seq=TASK.c.last_seq + bindparam("many"))
    .returning(TASK.c.last_seq)
)
_WAKE = Prepared(
    update(TASK)
    .where(TASK.c.id == bindparam("task"), TASK.c.status == TaskStatus.WAITING)
    .values(status=TaskStatus.READY, due_at=bindparam("time"))
)
_PROGRESS = Prepared(
    update(TASK).where(TASK.c.id == bindparam("task"), TASK.c.attempts > 1).values(attempts=1)
)
_STATUS = Prepared(select(TASK.c.status).where(TASK.c.id == bindparam("task")))
#: The events that end a step for its task.
FINISHING = (EventKind.TOOL_RESULT_PERSISTED, EventKind.STEP_FAILED, EventKind.STEP_CANCELLED)
_ADD_EVENT = Prepared(insert(EVENT))
_ADD_ARTIFACT = Prepared(
    insert(ARTIFACT).from_select(
        ["id", "sha", "artifact_class", "media_type", "size", "state"],
        select(
            bindparam("new_id", type_=ARTIFACT.c.id.type),
            bindparam("new_sha"),
            bindparam("new_class"),
            bindparam("new_type"),
            bindparam("new_size"),
            bindparam("new_state"),
        ).where(~select(ARTIFACT.c.id).where(ARTIFACT.c.id == bindparam("new_id")).exists()),
    )
)
_ADD_HOLDER = Prepared(
    insert(HOLDER).from_select(
        ["artifact_id", "task_id"],
        select(
            bindparam("held", type_=ARTIFACT.c.id.type), bindparam("by", type_=TASK.c.id.type)
        ).where(
            ~select(HOLDER.c.task_id)
            .where(HOLDER.c.artifact_id == bindparam("held"), HOLDER.c.task_id == bindparam("by"))
            .exists()
        ),
    )
)
_KNOWN_SHA = Prepared(select(ARTIFACT.c.sha).where(ARTIFACT.c.id == bindparam("artifact")))
_KNOWN_SOURCES = select(ARTIFACT.c.id).where(
    ARTIFACT.c.id.in_(bindparam("wanted", expanding=True))
)


@dataclass(slots=True)
class Log:
    """Events of one task gathered in a transaction, numbered when they are written."""

    task_id: TaskId
    lines: list[tuple[EventKind, StepId | None, int | None, dict[str, Any]]] = field(
        default_factory=list
    )

    def add(
        self,
        kind: EventKind,
        step_id: StepId | None = None,
        token: int | None = None,
        **data: Any,
    ) -> None:
        """Gather one event."""
        self.lines.append((kind, step_id, token, data))

    def write(self, tx: Tx) -> int:
        """Number the events and write them; returns the newest number.

        Raises ``LeaseLost`` when the task is gone: its conversation was deleted (D24).
        """
        many = len(self.lines)
        newest = _NUMBERS.run(tx.connection, task=self.task_id, many=many).scalar()
        if newest is None:
            raise LeaseLost("the task is gone: its conversation was deleted")
        first = newest - many + 1
        rows = [
            {
                "task_id": self.task_id,
                "seq": first + place,
                "at": tx.now,
                "kind": kind,
                "step_id": step_id,
                "token": token,
                "data": json.dumps(data, separators=(",", ":")),
            }
            for place, (kind, step_id, token, data) in enumerate(self.lines)
        ]
        _ADD_EVENT.run_many(tx.connection, rows)
        for place, (kind, step_id, _, data) in enumerate(self.lines):
            if worth_telling(kind, data):
                add_notice(tx, (self.task_id, first + place), step_id, kind, data)
        return int(newest)


def record(tx: Tx, task_id: TaskId, new: NewArtifact) -> bool:
    """Write an artifact's row, its holder and its sources; whether it was new."""
    ref = new.ref
    done = _ADD_ARTIFACT.run(
        tx.connection,
        new_id=ref.id,
        new_sha=ref.sha,
        new_class=int(ref.artifact_class),
        new_type=ref.media_type,
        new_size=ref.size,
        new_state="kept",
    )
    _ADD_HOLDER.run(tx.connection, held=ref.id, by=task_id)
    if not done.rowcount:
        known = _KNOWN_SHA.run(tx.connection, artifact=ref.id).scalar()
        if known != ref.sha:
            raise BadInput(f"artifact {ref.id.hex()} was recorded before with another content")
        return False
    if new.sources:
        _record_sources(tx, new)
    return True


def _record_sources(tx: Tx, new: NewArtifact) -> None:
    wanted = list(dict.fromkeys(new.sources))
    known = set(tx.connection.execute(_KNOWN_SOURCES, {"wanted": wanted}).scalars())
    if new.ref.id in wanted or len(known) != len(wanted):
        raise BadInput("an artifact names a source that is not known, or itself")
    rows = [{"artifact_id": new.ref.id, "source_id": source} for source in wanted]
    tx.connection.execute(insert(SOURCE), rows)


def wake(tx: Tx, task_id: TaskId, *, progress: bool = False) -> bool:
    """Make a task's advance due; whether somebody has to be told.

    With ``progress`` the task got on, and the advances that ended badly before count no more.
    """
    if progress:
        _PROGRESS.run(tx.connection, task=task_id)
    _WAKE.run(tx.connection, task=task_id, time=tx.now)
    status = _STATUS.run(tx.connection, task=task_id).scalar()
    return status in (TaskStatus.READY, TaskStatus.RUNNING)


def task_open() -> Any:
    """Return the condition that a step's task has a use for it: unfinished and not paused."""
    query = select(TASK.c.id).where(TASK.c.id == STEP.c.task_id)
    open_ = one_of(TASK.c.status, sorted(TASK_UNFINISHED))
    return query.where(open_, TASK.c.paused_at.is_(None)).exists()


def error_columns(kept: Kept | None) -> dict[str, Any]:
    """Return the two columns an error is kept in."""
    if kept is None:
        return {"error_kind": None, "error_id": None}
    return {"error_kind": kept.kind[:128], "error_id": kept.artifact_id}


def said(failure: Failure) -> dict[str, Any]:
    """Return what an event tells of a failure: words without payload, and where the text is."""
    text = failure.error.artifact_id
    facts = {"reason": failure.reason, "error": failure.error.kind}
    return facts | {"text": text.hex()} if text else facts
