"""The append-only log: what happened to a task, numbered without a gap (R50 to R55, D27)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from keptstep.models.ids import StepId, TaskId


class EventKind(StrEnum):
    """Every kind of event; the first three are a call's envelope (R51)."""

    TOOL_CALL_STARTED = "tool_call_started"  #: before the call, with lease and attempt
    PAYLOAD_PERSISTED = "payload_persisted"  #: the file is kept and synced
    TOOL_RESULT_PERSISTED = "tool_result_persisted"  #: the step is done

    TASK_SUBMITTED = "task_submitted"
    ADVANCE_STARTED = "advance_started"
    ADVANCE_LEFT = "advance_left"  #: the function waits; nobody holds it
    ADVANCE_FAILED = "advance_failed"  #: this advance ended badly; another may follow
    ADVANCE_RECLAIMED = "advance_reclaimed"  #: the holder died or its lease ended
    TASK_BLOCKED = "task_blocked"
    TASK_DONE = "task_done"
    TASK_FAILED = "task_failed"
    TASK_CANCELLED = "task_cancelled"
    TASK_REOPENED = "task_reopened"  #: a person set it going again
    TASK_PAUSED = "task_paused"  #: a person: nothing of it is begun
    TASK_UNPAUSED = "task_unpaused"

    STEP_PLANNED = "step_planned"
    STEP_READIED = "step_readied"  #: its last need is done
    STEP_RETRY = "step_retry"  #: the attempt failed; due again at ``due_at``
    STEP_FAILED = "step_failed"  #: a dead letter
    STEP_UNCERTAIN = "step_uncertain"
    STEP_RELEASED = "step_released"  #: a planned shutdown gave it back; not an attempt
    STEP_RECLAIMED = "step_reclaimed"  #: the holder died or its lease ended
    STEP_REQUEUED = "step_requeued"  #: a person set it going again
    STEP_SETTLED = "step_settled"  #: a verdict on an uncertain step (D3)
    STEP_CANCELLED = "step_cancelled"
    LATE_RESULT = "late_result"  #: kept as evidence, never shown (D18)


# Of these a person is told at night.
_TELLING = frozenset(
    {
        EventKind.STEP_UNCERTAIN,
        EventKind.STEP_FAILED,
        EventKind.TASK_FAILED,
        EventKind.TASK_BLOCKED,
    }
)


def worth_telling(kind: EventKind, data: Mapping[str, Any]) -> bool:
    """Whether a person is told of an event; not of a task that failed with a step told of."""
    return kind in _TELLING and data.get("error") != "StepFailed"


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log; ``data`` holds facts such as hashes and counts, never a payload."""

    task_id: TaskId
    seq: int
    at: float  #: seconds of the store's clock; for information, ``seq`` is the order
    kind: EventKind
    step_id: StepId | None = None
    token: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
