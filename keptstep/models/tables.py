"""The tables, private to the stores: what each row holds and what the database itself refuses.

Rows hold references, never a payload (R28): the only free texts are reasons written by keptstep,
literal inputs up to 1 KiB (D49) and titles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    text,
)
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.events import EventKind
from keptstep.models.states import StepStatus, TaskStatus

_ID = LargeBinary(16)


def _id(*, null: bool = False, parent: str | None = None, primary: bool = False) -> Any:
    link = (ForeignKey(parent, ondelete="CASCADE"),) if parent else ()
    return Field(sa_column=Column(_ID, *link, nullable=null, primary_key=primary))


def _text(length: int | None = None, *, null: bool = False, primary: bool = False) -> Any:
    kind = String(length) if length else Text()
    return Field(sa_column=Column(kind, nullable=null, primary_key=primary))


def _number(*, null: bool = False) -> Any:
    return Field(sa_column=Column(Double(), nullable=null))


def _one_of(column: str, values: Iterable[object]) -> str:
    """Write a check that a column holds one of a vocabulary's values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"{column} IN ({listed})"


class Row(SQLModel, registry=registry()):
    """The base of our rows: a registry of their own, apart from a user's own SQLModel tables."""


METADATA = Row.metadata


class ConversationRow(Row, table=True):
    """A conversation owns tasks; ``deleting`` is set while its subtree is being deleted."""

    __tablename__ = "conversation"
    __table_args__ = {"sqlite_with_rowid": False}
    id: bytes = _id(primary=True)
    parent_id: bytes | None = _id(null=True)
    branched_at: float | None = _number(null=True)
    title: str | None = _text(200, null=True)
    created_at: float = _number()
    deleting: float | None = _number(null=True)


class TaskRow(Row, table=True):
    """One run of a workflow, with the lease of its advance."""

    __tablename__ = "task"
    __table_args__ = (
        CheckConstraint(_one_of("status", TaskStatus), name="task_status"),
        CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="task_lease"),
        CheckConstraint("(status = 'running') = (owner IS NOT NULL)", name="task_owner"),
        CheckConstraint("status <> 'done' OR artifact_id IS NOT NULL", name="task_result"),
        CheckConstraint("attempts >= 0 AND attempts <= max_attempts", name="task_attempts"),
        CheckConstraint("input IS NULL OR length(input) <= 1024", name="task_input"),
        Index("task_ready", "due_at", sqlite_where=text("status = 'ready'")),
        Index("task_running", "owner", sqlite_where=text("status = 'running'")),
        {"sqlite_with_rowid": False},
    )
    id: bytes = _id(primary=True)
    conversation_id: bytes = Field(
        sa_column=Column(
            _ID, ForeignKey("conversation.id", ondelete="CASCADE"), nullable=False, index=True
        )
    )
    workflow: str = _text(128)
    status: str = _text(16)
    input: str | None = _text(1024, null=True)
    input_id: bytes | None = _id(null=True)
    input_sha: str = _text(64)
    key: str | None = Field(sa_column=Column(String(200), nullable=True, unique=True))
    owner: str | None = _text(64, null=True)
    token: int = Field(sa_column=Column(Integer, nullable=False))
    lease_until: float | None = _number(null=True)
    attempts: int = Field(sa_column=Column(Integer, nullable=False))
    max_attempts: int = Field(sa_column=Column(Integer, nullable=False))
    due_at: float = _number()
    last_seq: int = Field(sa_column=Column(Integer, nullable=False))
    artifact_id: bytes | None = _id(null=True)
    reason: str | None = _text(null=True)
    error_kind: str | None = _text(128, null=True)
    error_id: bytes | None = _id(null=True)
    created_at: float = _number()
    ended_at: float | None = _number(null=True)
    paused_at: float | None = _number(null=True)


class StepRow(Row, table=True):
    """One unit of work, with the lease of its present attempt."""

    __tablename__ = "step"
    __table_args__ = (
        CheckConstraint(_one_of("status", StepStatus), name="step_status"),
        CheckConstraint(_one_of("effect", Effect), name="step_effect"),
        CheckConstraint(
            f"artifact_class IN ({', '.join(str(int(c)) for c in ArtifactClass)})",
            name="step_class",
        ),
        CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="step_lease"),
        CheckConstraint("(status = 'running') = (owner IS NOT NULL)", name="step_owner"),
        CheckConstraint("status <> 'done' OR artifact_id IS NOT NULL", name="step_result"),
        CheckConstraint("attempts >= 0 AND attempts <= max_attempts", name="step_attempts"),
        CheckConstraint("input IS NULL OR length(input) <= 1024", name="step_input"),
        Index("step_name", "task_id", "name", unique=True),
        Index("step_position", "task_id", "position", unique=True),
        Index("step_ready", "due_at", sqlite_where=text("status = 'ready'")),
        Index("step_running", "owner", sqlite_where=text("status = 'running'")),
        {"sqlite_with_rowid": False},
    )
    id: bytes = _id(primary=True)
    task_id: bytes = _id(parent="task.id")
    position: int = Field(sa_column=Column(Integer, nullable=False))
    name: str = _text(128)
    tool: str = _text(128)
    artifact_class: int = Field(sa_column=Column(Integer, nullable=False))
    effect: str = _text(16)
    status: str = _text(16)
    input: str | None = _text(1024, null=True)
    input_id: bytes | None = _id(null=True)
    input_sha: str = _text(64)
    attempts: int = Field(sa_column=Column(Integer, nullable=False))
    max_attempts: int = Field(sa_column=Column(Integer, nullable=False))
    deadline: float = _number()
    owner: str | None = _text(64, null=True)
    token: int = Field(sa_column=Column(Integer, nullable=False))
    lease_until: float | None = _number(null=True)
    started_at: float | None = _number(null=True)
    due_at: float = _number()
    artifact_id: bytes | None = _id(null=True)
    reason: str | None = _text(null=True)
    error_kind: str | None = _text(128, null=True)
    error_id: bytes | None = _id(null=True)


class StepNeedRow(Row, table=True):
    """Step ``step_id`` may not run before ``needs_id`` is done."""

    __tablename__ = "step_need"
    __table_args__ = {"sqlite_with_rowid": False}
    step_id: bytes = _id(parent="step.id", primary=True)
    needs_id: bytes = Field(
        sa_column=Column(
            _ID, ForeignKey("step.id", ondelete="CASCADE"), primary_key=True, index=True
        )
    )


class AttemptRow(Row, table=True):
    """One claim of a step, never removed while the step lives."""

    __tablename__ = "attempt"
    __table_args__ = {"sqlite_with_rowid": False}
    step_id: bytes = _id(parent="step.id", primary=True)
    n: int = Field(sa_column=Column(Integer, primary_key=True))
    worker: str = _text(64)
    token: int = Field(sa_column=Column(Integer, nullable=False))
    started_at: float = _number()
    ended_at: float | None = _number(null=True)
    outcome: str | None = _text(16, null=True)
    error_kind: str | None = _text(128, null=True)
    error_id: bytes | None = _id(null=True)


class EventRow(Row, table=True):
    """One line of a task's log: inserted in order, never changed (triggers say so too)."""

    __tablename__ = "event"
    __table_args__ = (
        CheckConstraint(_one_of("kind", EventKind), name="event_kind"),
        {"sqlite_with_rowid": False},
    )
    task_id: bytes = _id(parent="task.id", primary=True)
    seq: int = Field(sa_column=Column(Integer, primary_key=True))
    at: float = _number()
    kind: str = _text(32)
    step_id: bytes | None = _id(null=True)
    token: int | None = Field(default=None, sa_column=Column(Integer, nullable=True))
    data: str = _text()


class ArtifactRow(Row, table=True):
    """A reference to a kept payload."""

    __tablename__ = "artifact"
    __table_args__ = (
        CheckConstraint("length(sha) = 64", name="artifact_sha"),
        CheckConstraint(_one_of("state", ("kept", "lost")), name="artifact_state"),
        {"sqlite_with_rowid": False},
    )
    id: bytes = _id(primary=True)
    sha: str = Field(sa_column=Column(String(64), nullable=False, index=True))
    artifact_class: int = Field(sa_column=Column(Integer, nullable=False))
    media_type: str = _text(128)
    size: int = Field(sa_column=Column(Integer, nullable=False))
    state: str = _text(16)


class ArtifactHolderRow(Row, table=True):
    """A task that holds an artifact: it stays while one holder lives (R85)."""

    __tablename__ = "artifact_holder"
    __table_args__ = {"sqlite_with_rowid": False}
    artifact_id: bytes = _id(parent="artifact.id", primary=True)
    task_id: bytes = Field(
        sa_column=Column(
            _ID, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True, index=True
        )
    )


class ArtifactSourceRow(Row, table=True):
    """An artifact's source: it stays while what was derived from it lives (R86)."""

    __tablename__ = "artifact_source"
    __table_args__ = {"sqlite_with_rowid": False}
    artifact_id: bytes = _id(parent="artifact.id", primary=True)
    source_id: bytes = Field(
        sa_column=Column(_ID, ForeignKey("artifact.id"), primary_key=True, index=True)
    )


class NoticeRow(Row, table=True):
    """One thing a person is to be told of; written with its event, removed when it is told."""

    __tablename__ = "notice"
    __table_args__ = (Index("notice_due", "due_at"), {"sqlite_with_rowid": False})
    id: bytes = _id(primary=True)
    task_id: bytes = Field(
        sa_column=Column(
            _ID, ForeignKey("task.id", ondelete="CASCADE"), nullable=False, index=True
        )
    )
    step_id: bytes | None = _id(null=True)
    kind: str = _text(32)
    reason: str = _text()
    at: float = _number()
    due_at: float = _number()
    attempts: int = Field(sa_column=Column(Integer, nullable=False))


class CommitMarkRow(Row, table=True):
    """The newest batch each writer committed: how an unanswered commit is read back."""

    __tablename__ = "commit_mark"
    __table_args__ = {"sqlite_with_rowid": False}
    writer: str = _text(64, primary=True)
    batch: int = Field(sa_column=Column(Integer, nullable=False))
    at: float = _number()
