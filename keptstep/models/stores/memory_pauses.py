"""The in-memory store's verbs to pause a task and to let it go on."""

from __future__ import annotations

from keptstep.models.errors import IllegalMove, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId, short
from keptstep.models.records import Task
from keptstep.models.states import TASK_UNFINISHED
from keptstep.models.stores.memory_data import MemoryBase


class PauseVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def pause_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """Let nothing of a task begin."""
        return self._pause(task_id, by, why, paused=True)

    def unpause_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """Let a paused task go on."""
        return self._pause(task_id, by, why, paused=False)

    def _pause(self, task_id: TaskId, by: str, why: str, *, paused: bool) -> Task:
        with self._change() as change:
            task = change.tables.tasks.get(task_id)
            if task is None:
                raise NotFound(f"there is no task {short(task_id)}")
            pausable = task.status in TASK_UNFINISHED and task.paused_at is None
            if not (pausable if paused else task.paused_at is not None):
                raise IllegalMove(f"task {short(task_id)} cannot be paused or unpaused now")
            change.set_task(task_id, paused_at=change.now if paused else None)
            kind = EventKind.TASK_PAUSED if paused else EventKind.TASK_UNPAUSED
            change.log(task_id, kind, by=by, why=why)
            return change.tables.tasks[task_id]
