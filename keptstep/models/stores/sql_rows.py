"""Between rows and records, and what every change has in common: events, artifacts, waking."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Row, bindparam, insert, select, update

from keptstep.models.artifacts import ArtifactClass, ArtifactRef, Effect
from keptstep.models.errors import BadInput, LeaseLost
from keptstep.models.events import Event, EventKind
from keptstep.models.ids import ArtifactId, ConversationId, Sha256, StepId, TaskId, WorkerId
from keptstep.models.records import Attempt, Failure, Kept, NewArtifact, Step, Task
from keptstep.models.states import TASK_UNFINISHED, StepStatus, TaskStatus
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.prepared import Prepared, one_of
from keptstep.models.tables import METADATA

_T = TypeVar("_T")

CONVERSATION = METADATA.tables["conversation"]
TASK = METADATA.tables["task"]
STEP = METADATA.tables["step"]
NEED = METADATA.tables["step_need"]
ATTEMPT = METADATA.tables["attempt"]
EVENT = METADATA.tables["event"]
ARTIFACT = METADATA.tables["artifact"]
HOLDER = METADATA.tables["artifact_holder"]
SOURCE = METADATA.tables["artifact_source"]

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


def task_unfinished() -> Any:
    """Return the condition that a step's task may still use its result."""
    query = select(TASK.c.id).where(TASK.c.id == STEP.c.task_id)
    return query.where(one_of(TASK.c.status, sorted(TASK_UNFINISHED))).exists()


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


def as_task(row: Row[Any] | Mapping[str, Any]) -> Task:
    """Read a task's row."""
    it = _facts(row)
    return Task(
        id=TaskId(it["id"]),
        conversation_id=ConversationId(it["conversation_id"]),
        workflow=it["workflow"],
        status=TaskStatus(it["status"]),
        input=it["input"],
        input_id=_artifact_id(it["input_id"]),
        input_sha=Sha256(it["input_sha"]),
        key=it["key"],
        owner=WorkerId(it["owner"]) if it["owner"] else None,
        token=it["token"],
        lease_until=it["lease_until"],
        attempts=it["attempts"],
        max_attempts=it["max_attempts"],
        due_at=it["due_at"],
        last_seq=it["last_seq"],
        artifact_id=_artifact_id(it["artifact_id"]),
        reason=it["reason"],
        error=_error(it),
        created_at=it["created_at"],
        ended_at=it["ended_at"],
    )


def as_step(row: Row[Any] | Mapping[str, Any], needs: Sequence[bytes] = ()) -> Step:
    """Read a step's row."""
    it = _facts(row)
    return Step(
        id=StepId(it["id"]),
        task_id=TaskId(it["task_id"]),
        position=it["position"],
        name=it["name"],
        tool=it["tool"],
        artifact_class=ArtifactClass(it["artifact_class"]),
        effect=Effect(it["effect"]),
        status=StepStatus(it["status"]),
        input=it["input"],
        input_id=_artifact_id(it["input_id"]),
        input_sha=Sha256(it["input_sha"]),
        attempts=it["attempts"],
        max_attempts=it["max_attempts"],
        deadline=it["deadline"],
        owner=WorkerId(it["owner"]) if it["owner"] else None,
        token=it["token"],
        lease_until=it["lease_until"],
        started_at=it["started_at"],
        due_at=it["due_at"],
        artifact_id=_artifact_id(it["artifact_id"]),
        reason=it["reason"],
        error=_error(it),
        needs=tuple(StepId(need) for need in needs),
    )


def as_attempt(row: Row[Any] | Mapping[str, Any]) -> Attempt:
    """Read an attempt's row."""
    it = _facts(row)
    return Attempt(
        step_id=StepId(it["step_id"]),
        n=it["n"],
        worker=WorkerId(it["worker"]),
        token=it["token"],
        started_at=it["started_at"],
        ended_at=it["ended_at"],
        outcome=it["outcome"],
        error=_error(it),
    )


def as_event(row: Row[Any] | Mapping[str, Any]) -> Event:
    """Read an event's row."""
    it = _facts(row)
    return Event(
        task_id=TaskId(it["task_id"]),
        seq=it["seq"],
        at=it["at"],
        kind=EventKind(it["kind"]),
        step_id=StepId(it["step_id"]) if it["step_id"] else None,
        token=it["token"],
        data=json.loads(it["data"]),
    )


def as_ref(row: Row[Any] | Mapping[str, Any]) -> ArtifactRef:
    """Read an artifact's row."""
    it = _facts(row)
    return ArtifactRef(
        id=ArtifactId(it["id"]),
        sha=Sha256(it["sha"]),
        artifact_class=ArtifactClass(it["artifact_class"]),
        media_type=it["media_type"],
        size=it["size"],
    )


def chunks(items: Sequence[_T], size: int = 500) -> Iterator[list[_T]]:
    """Cut a list for statements that take a limited number of parameters."""
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def ids(rows: Iterable[Any]) -> list[StepId]:
    """Read a column of step ids."""
    return [StepId(value) for value in rows]


def _facts(row: Row[Any] | Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(row._mapping) if isinstance(row, Row) else row


def _artifact_id(value: bytes | None) -> ArtifactId | None:
    return ArtifactId(value) if value is not None else None


def _error(it: Any) -> Kept | None:
    return Kept(it["error_kind"], _artifact_id(it["error_id"])) if it["error_kind"] else None
