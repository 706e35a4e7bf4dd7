"""The verbs of ``SqlTaskStore`` that only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.exc import DBAPIError

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.events import Event
from keptstep.models.ids import ArtifactId, ConversationId, StepId, TaskId
from keptstep.models.records import Attempt, Step, Task
from keptstep.models.stores import sql_reads
from keptstep.models.stores.engine import reader_engine, told

if TYPE_CHECKING:
    from keptstep.workflows.ports import Clock

T = TypeVar("T")


class SqlReading:
    """See ``StoreReads`` for what each answers."""

    def __init__(self, database: Path, clock: Clock, busy_timeout: float) -> None:
        self._database = database
        self._clock = clock
        self._readers = reader_engine(database, busy_timeout)

    def _read(self, query: Callable[..., T], *given: Any) -> T:
        """Run a query on one committed snapshot."""
        try:
            with self._readers.connect() as connection:
                return query(connection, *given)
        except (DBAPIError, sqlite3.Error) as error:
            raise told(error, self._database) from None

    def now(self) -> float:
        """Return the store's time in seconds."""
        return self._clock.now()

    def task(self, task_id: TaskId) -> Task:
        """See ``TaskStore.task``."""
        return self._read(sql_reads.task, task_id)

    def tasks(self, limit: int = 100, *, unfinished: bool = False) -> list[Task]:
        """See ``TaskStore.tasks``."""
        return self._read(sql_reads.tasks, limit, unfinished)

    def conversation_tasks(self, conversation_id: ConversationId) -> list[Task]:
        """See ``TaskStore.conversation_tasks``."""
        return self._read(sql_reads.conversation_tasks, conversation_id)

    def task_ids(self, fragment: str) -> list[TaskId]:
        """See ``TaskStore.task_ids``."""
        return [TaskId(i) for i in self._read(sql_reads.matching, "task", fragment)]

    def step_ids(self, fragment: str) -> list[StepId]:
        """See ``TaskStore.step_ids``."""
        return [StepId(i) for i in self._read(sql_reads.matching, "step", fragment)]

    def artifact_ids(self, fragment: str) -> list[ArtifactId]:
        """See ``TaskStore.artifact_ids``."""
        return [ArtifactId(i) for i in self._read(sql_reads.matching, "artifact", fragment)]

    def step(self, step_id: StepId) -> Step:
        """See ``TaskStore.step``."""
        return self._read(sql_reads.step, step_id)

    def steps(self, task_id: TaskId) -> list[Step]:
        """See ``TaskStore.steps``."""
        return self._read(sql_reads.steps, task_id)

    def unfinished(self, task_id: TaskId) -> list[Step]:
        """See ``TaskStore.unfinished``."""
        return self._read(sql_reads.unfinished, task_id)

    def settled(self, task_id: TaskId, after: int) -> tuple[int, list[Step]]:
        """See ``TaskStore.settled``."""
        return self._read(sql_reads.settled, task_id, after)

    def attempts(self, step_id: StepId) -> list[Attempt]:
        """See ``TaskStore.attempts``."""
        return self._read(sql_reads.attempts, step_id)

    def events(self, task_id: TaskId, after: int = 0, limit: int = 1000) -> list[Event]:
        """See ``TaskStore.events``."""
        return self._read(sql_reads.events, task_id, after, limit)

    def artifact(self, artifact_id: ArtifactId) -> ArtifactRef:
        """See ``TaskStore.artifact``."""
        return self._read(sql_reads.artifact, artifact_id)

    def sources(self, artifact_id: ArtifactId) -> list[ArtifactId]:
        """See ``TaskStore.sources``."""
        return self._read(sql_reads.sources, artifact_id)
