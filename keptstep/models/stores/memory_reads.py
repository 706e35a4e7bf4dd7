"""The in-memory store's reads: records and copies, never the tables themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.errors import BadInput, NotFound
from keptstep.models.events import Event
from keptstep.models.ids import (
    ArtifactId,
    ConversationId,
    StepId,
    TaskId,
    is_fragment,
    matches,
    short,
)
from keptstep.models.records import Attempt, Step, Task
from keptstep.models.states import STEP_FINISHED, STEP_UNFINISHED, TASK_UNFINISHED
from keptstep.models.stores.memory_data import MemoryBase, Tables, finishing_events

I = TypeVar("I", bound=bytes)  # noqa: E741 - an id type

_MATCHES = 10


class Reads(MemoryBase):
    """See ``TaskStore`` for what each read returns."""

    def task(self, task_id: TaskId) -> Task:
        """Return one task; raises ``NotFound``."""
        with self._read() as tables:
            return _task(tables, task_id)

    def tasks(self, limit: int = 100, *, unfinished: bool = False) -> list[Task]:
        """Return tasks, newest first."""
        with self._read() as tables:
            found = [
                task
                for task in tables.tasks.values()
                if not unfinished or task.status in TASK_UNFINISHED
            ]
        return sorted(found, key=lambda task: task.id, reverse=True)[:limit]

    def task_ids(self, fragment: str) -> list[TaskId]:
        """Return up to 10 tasks whose id begins or ends with the fragment (D48)."""
        with self._read() as tables:
            return _matching(tables.tasks, fragment)

    def step_ids(self, fragment: str) -> list[StepId]:
        """Return up to 10 steps whose id begins or ends with the fragment."""
        with self._read() as tables:
            return _matching(tables.steps, fragment)

    def artifact_ids(self, fragment: str) -> list[ArtifactId]:
        """Return up to 10 artifacts whose id begins or ends with the fragment."""
        with self._read() as tables:
            return _matching(tables.artifacts, fragment)

    def step(self, step_id: StepId) -> Step:
        """Return one step; raises ``NotFound``."""
        with self._read() as tables:
            step = tables.steps.get(step_id)
        if step is None:
            raise NotFound(f"there is no step {short(step_id)}")
        return step

    def steps(self, task_id: TaskId) -> list[Step]:
        """Return the steps of a task by position."""
        with self._read() as tables:
            return [tables.steps[step_id] for step_id in tables.steps_of.get(task_id, ())]

    def unfinished(self, task_id: TaskId) -> list[Step]:
        """Return the steps of a task that are not finished, by position."""
        return [step for step in self.steps(task_id) if step.status in STEP_UNFINISHED]

    def settled(self, task_id: TaskId, after: int) -> tuple[int, list[Step]]:
        """Return the newest event's number and the steps finished by events after ``after``."""
        with self._read() as tables:
            task = _task(tables, task_id)
            told = {event.step_id for event in finishing_events(tables, task, after)}
            steps = [tables.steps[step_id] for step_id in told if step_id is not None]
        finished = [step for step in steps if step.status in STEP_FINISHED]
        return task.last_seq, sorted(finished, key=lambda step: step.position)

    def attempts(self, step_id: StepId) -> list[Attempt]:
        """Return the attempts of a step by number."""
        with self._read() as tables:
            return list(tables.attempts.get(step_id, ()))

    def events(self, task_id: TaskId, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return events numbered above ``after``, by number."""
        with self._read() as tables:
            task = tables.tasks.get(task_id)
            newest = task.last_seq if task is not None else 0
            first = max(after, 0) + 1
            numbers = range(first, min(newest, first + limit - 1) + 1)
            found = [tables.events[task_id, seq] for seq in numbers]
        return [replace(event, data=dict(event.data)) for event in found]

    def artifact(self, artifact_id: ArtifactId) -> ArtifactRef:
        """Return one artifact's record; raises ``NotFound``."""
        with self._read() as tables:
            kept = tables.artifacts.get(artifact_id)
        if kept is None:
            raise NotFound(f"there is no artifact {short(artifact_id)}")
        return kept.ref

    def sources(self, artifact_id: ArtifactId) -> list[ArtifactId]:
        """Return the artifacts this one names as its sources (R76)."""
        with self._read() as tables:
            kept = tables.artifacts.get(artifact_id)
        return sorted(set(kept.sources)) if kept is not None else []

    def conversation_tasks(self, conversation_id: ConversationId) -> list[Task]:
        """Return the tasks of a conversation, oldest first."""
        with self._read() as tables:
            found = tables.conversations.get(conversation_id, ())
            return [tables.tasks[task_id] for task_id in sorted(found)]

    def now(self) -> float:
        """Return the store's time in seconds."""
        return self._clock.now()

    def close(self) -> None:
        """Let go of nothing: memory is given back with the object."""


def _task(tables: Tables, task_id: TaskId) -> Task:
    try:
        return tables.tasks[task_id]
    except KeyError:
        raise NotFound(f"there is no task {short(task_id)}") from None


def _matching(ids: Iterable[I], fragment: str) -> list[I]:
    if not is_fragment(fragment):
        raise BadInput(f"{fragment[:40]!r} is no id: ids are hexadecimal digits")
    return sorted(identity for identity in ids if matches(identity, fragment))[:_MATCHES]
