"""Records for tests: small, complete, and the same in every run."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace
from typing import Any

from keptstep.models.artifacts import BYTES_TYPE, ArtifactClass, ArtifactRef, Effect
from keptstep.models.canonical import Arguments, sha256
from keptstep.models.ids import ArtifactId, ConversationId, StepId, TaskId, WorkerId, uuid7
from keptstep.models.records import Bell, Failure, Kept, NewArtifact, NewStep, NewTask, Step
from keptstep.models.states import StepStatus

#: Milliseconds: ids of a later number sort after those of an earlier one.
_EPOCH = 1_700_000_000_000

_numbers = itertools.count(1)


def identity(kind: str, number: int | None = None) -> bytes:
    """Return a UUIDv7 that depends on ``kind`` and ``number`` alone.

    Without a number the next of a process-wide count is taken: ids grow in the order made.
    """
    number = next(_numbers) if number is None else number
    return uuid7(_EPOCH + number, hashlib.sha256(f"{kind}{number}".encode()).digest()[:10])


def bell(step: Step) -> Bell:
    """Return what a store says of a step that deserves a ring."""
    return Bell(step.id, step.tool)


def new_task(number: int | None = None, **values: Any) -> NewTask:
    """Return a task in a conversation of its own; any field can be given."""
    document = Arguments({"question": "what is kept?"}).document()
    task = NewTask(
        id=TaskId(identity("task", number)),
        conversation_id=ConversationId(identity("conversation", number)),
        workflow="research",
        input=document,
        input_artifact=None,
        input_sha=sha256(document.encode()),
    )
    return replace(task, **values)


def new_step(name: str = "find", number: int | None = None, **values: Any) -> NewStep:
    """Return a read-only step with 3 attempts and a deadline of 600 s; any field can be given."""
    arguments = Arguments({"name": name})
    step = NewStep(
        id=StepId(identity("step", number)),
        name=name,
        tool="search",
        artifact_class=ArtifactClass.SNAPSHOT,
        effect=Effect.NONE,
        input=arguments.document(),
        input_artifact=None,
        input_sha=arguments.digest("search"),
        deadline=600.0,
    )
    return replace(step, **values)


def a_step(status: StepStatus = StepStatus.READY, **values: Any) -> Step:
    """Return a step as a store would, in a given status; any field can be given."""
    new = new_step(number=1)
    held = status is StepStatus.RUNNING
    step = Step(
        id=new.id,
        task_id=TaskId(identity("task", 1)),
        position=1,
        name=new.name,
        tool=new.tool,
        artifact_class=new.artifact_class,
        effect=new.effect,
        status=status,
        input=new.input,
        input_id=None,
        input_sha=new.input_sha,
        attempts=1 if held else 0,
        max_attempts=new.max_attempts,
        deadline=new.deadline,
        owner=WorkerId("ann-0001") if held else None,
        token=1 if held else 0,
        lease_until=0.0 if held else None,
        started_at=0.0 if held else None,
        due_at=0.0,
        artifact_id=None,
        reason=None,
        error=None,
    )
    return replace(step, **values)


def payload(
    content: str = "a result", number: int | None = None, sources: tuple[ArtifactId, ...] = ()
) -> NewArtifact:
    """Return an artifact whose bytes are ``content``; no file is written."""
    data = content.encode()
    ref = ArtifactRef(
        id=ArtifactId(identity("artifact", number)),
        sha=sha256(data),
        artifact_class=ArtifactClass.SNAPSHOT,
        media_type=BYTES_TYPE,
        size=len(data),
    )
    return NewArtifact(ref, sources)


def failure(reason: str = "the call raised", number: int | None = None) -> Failure:
    """Return a failure with its text as an artifact."""
    text = payload(f"Traceback of: {reason}", number)
    return Failure(reason, Kept("ValueError", text.ref.id), text)
