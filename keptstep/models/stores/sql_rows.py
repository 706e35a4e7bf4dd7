"""Between rows and records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Row

from keptstep.models.artifacts import ArtifactClass, ArtifactRef, Effect
from keptstep.models.events import Event, EventKind
from keptstep.models.ids import ArtifactId, ConversationId, Sha256, StepId, TaskId, WorkerId
from keptstep.models.records import Attempt, Kept, Step, Task
from keptstep.models.states import StepStatus, TaskStatus
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
NOTICE = METADATA.tables["notice"]
SOURCE = METADATA.tables["artifact_source"]


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
        paused_at=it["paused_at"],
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
