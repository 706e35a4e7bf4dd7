"""What is read from a task store: of a task, its steps, its log, and what they kept."""

from __future__ import annotations

from typing import Protocol

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.events import Event
from keptstep.models.ids import ArtifactId, ConversationId, StepId, TaskId
from keptstep.models.records import Attempt, Step, Task


class StoreReads(Protocol):
    """The part of ``TaskStore`` that changes nothing."""

    def task(self, task_id: TaskId) -> Task:
        """Return one task; raises ``NotFound``."""
        ...

    def tasks(self, limit: int = 100, *, unfinished: bool = False) -> list[Task]:
        """Return tasks, newest first."""
        ...

    def task_ids(self, fragment: str) -> list[TaskId]:
        """Return up to 10 tasks whose id begins or ends with the fragment (D48)."""
        ...

    def step_ids(self, fragment: str) -> list[StepId]:
        """Return up to 10 steps whose id begins or ends with the fragment."""
        ...

    def artifact_ids(self, fragment: str) -> list[ArtifactId]:
        """Return up to 10 artifacts whose id begins or ends with the fragment."""
        ...

    def step(self, step_id: StepId) -> Step:
        """Return one step; raises ``NotFound``."""
        ...

    def steps(self, task_id: TaskId) -> list[Step]:
        """Return the steps of a task by position."""
        ...

    def unfinished(self, task_id: TaskId) -> list[Step]:
        """Return the steps of a task that are not finished, by position."""
        ...

    def settled(self, task_id: TaskId, after: int) -> tuple[int, list[Step]]:
        """Return the newest event's number and the steps finished by events after ``after``."""
        ...

    def attempts(self, step_id: StepId) -> list[Attempt]:
        """Return the attempts of a step by number."""
        ...

    def events(self, task_id: TaskId, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return events numbered above ``after``, by number."""
        ...

    def artifact(self, artifact_id: ArtifactId) -> ArtifactRef:
        """Return one artifact's record; raises ``NotFound``."""
        ...

    def sources(self, artifact_id: ArtifactId) -> list[ArtifactId]:
        """Return the artifacts this one names as its sources (R76)."""
        ...

    def conversation_tasks(self, conversation_id: ConversationId) -> list[Task]:
        """Return the tasks of a conversation, oldest first."""
        ...

    def now(self) -> float:
        """Return the store's time in seconds."""
        ...

    def close(self) -> None:
        """Let go of files and threads; what was committed stays."""
        ...
