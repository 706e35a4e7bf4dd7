"""Records as JSON: whole ids, times in UTC, no payload. ``docs/cli.md`` describes the shapes."""

from __future__ import annotations

from typing import Any

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.canonical import Arguments
from keptstep.models.events import Event
from keptstep.models.ids import full
from keptstep.models.records import Attempt, Kept, Step, Task
from keptstep.ops.words import iso


def task_document(task: Task, verdict: Step | None = None) -> dict[str, Any]:
    """Return a task; ``verdict`` is the uncertain step it waits for."""
    return {
        "id": full(task.id),
        "status": str(task.status),
        "verdict_needed": _id(None if verdict is None else verdict.id),
        "workflow": task.workflow,
        "conversation_id": full(task.conversation_id),
        "key": task.key,
        "input": literal(task.input),
        "input_id": _id(task.input_id),
        "attempts": task.attempts,
        "max_attempts": task.max_attempts,
        "owner": task.owner,
        "token": task.token,
        "lease_until": _time(task.lease_until),
        "due_at": iso(task.due_at),
        "created_at": iso(task.created_at),
        "ended_at": _time(task.ended_at),
        "paused_at": _time(task.paused_at),
        "last_event": task.last_seq,
        "artifact_id": _id(task.artifact_id),
        "reason": task.reason,
        "error": _error(task.error),
    }


def step_document(step: Step) -> dict[str, Any]:
    """Return a step."""
    return {
        "id": full(step.id),
        "status": str(step.status),
        "task_id": full(step.task_id),
        "position": step.position,
        "name": step.name,
        "tool": step.tool,
        "artifact_class": int(step.artifact_class),
        "effect": str(step.effect),
        "input": literal(step.input),
        "input_id": _id(step.input_id),
        "attempts": step.attempts,
        "max_attempts": step.max_attempts,
        "deadline": step.deadline,
        "owner": step.owner,
        "token": step.token,
        "lease_until": _time(step.lease_until),
        "started_at": _time(step.started_at),
        "due_at": iso(step.due_at),
        "needs": [full(need) for need in step.needs],
        "artifact_id": _id(step.artifact_id),
        "reason": step.reason,
        "error": _error(step.error),
    }


def attempt_document(attempt: Attempt) -> dict[str, Any]:
    """Return one claim of a step."""
    return {
        "n": attempt.n,
        "worker": attempt.worker,
        "token": attempt.token,
        "started_at": iso(attempt.started_at),
        "ended_at": _time(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": _error(attempt.error),
    }


def event_document(event: Event) -> dict[str, Any]:
    """Return one line of a task's log."""
    return {
        "task_id": full(event.task_id),
        "seq": event.seq,
        "at": iso(event.at),
        "kind": str(event.kind),
        "step_id": _id(event.step_id),
        "token": event.token,
        "data": dict(event.data),
    }


def artifact_document(ref: ArtifactRef) -> dict[str, Any]:
    """Return an artifact's record."""
    return {
        "id": full(ref.id),
        "sha": ref.sha,
        "artifact_class": int(ref.artifact_class),
        "media_type": ref.media_type,
        "size": ref.size,
    }


def literal(document: str | None) -> dict[str, Any] | None:
    """Return the arguments that stand in a row, by name; ``None`` when they are an artifact."""
    return None if document is None else Arguments.of_document(document).values


def _id(identity: bytes | None) -> str | None:
    return None if identity is None else full(identity)


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)


def _error(error: Kept | None) -> dict[str, Any] | None:
    return None if error is None else {"kind": error.kind, "text_id": _id(error.artifact_id)}
