"""Following tasks while workers work on them: until they end, stand still, or we are stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keptstep.models.ids import TaskId
from keptstep.models.records import Step, Task
from keptstep.models.states import TASK_FINISHED, TaskStatus
from keptstep.ops.progress import Progress
from keptstep.ops.stopping import Stop
from keptstep.ops.watching import TaskView
from keptstep.workflows.ports import TaskStore

#: How long a task has to be quiet, in looks, before it is asked whether it stands still: between
#: two steps its function may be thinking.
_QUIET = 20
_EVERY = 0.1  # seconds between two looks
_PAGE = 1000


@dataclass
class Followed:
    """A task that is followed, and how that ended."""

    task: Task
    view: TaskView
    over: bool = False
    standstill: str | None = None  #: why nothing here moves it, if so
    quiet: int = 0


class Following:
    """Follows tasks by their events; the rows are read again when there is news."""

    def __init__(
        self,
        store: TaskStore,
        progress: Progress,
        standstill: Callable[[Task, Sequence[Step]], str | None],
    ) -> None:
        self._store = store
        self._progress = progress
        self._standstill = standstill

    def add(self, task_id: TaskId) -> Followed:
        """Begin to follow a task from where it stands now."""
        task = self._store.task(task_id)
        view = TaskView(task_id, task.last_seq, self._store.steps(task_id))
        return Followed(task, view, over=_over(task))

    def run(self, followed: Sequence[Followed], stop: Stop) -> None:
        """Follow until every task is over or stands still, or somebody asks to stop."""
        try:
            while not stop.asked:
                going = [one for one in followed if not one.over]
                for one in going:
                    self._look(one)
                self._progress.refresh([one.view for one in going], self._store.now())
                if all(one.over for one in followed):
                    return
                stop.pause(_EVERY * max(1.0, len(going) / 20))
        finally:
            self._progress.close()

    def _look(self, one: Followed) -> None:
        if self._news(one):
            one.quiet = 0
            self._read(one)
            return
        one.quiet += 1
        if one.quiet % _QUIET == 0:
            self._read(one)
            one.standstill = self._standstill(one.task, self._store.unfinished(one.task.id))
            one.over = one.over or one.standstill is not None

    def _read(self, one: Followed) -> None:
        one.task = self._store.task(one.task.id)
        one.over = _over(one.task)
        if one.over:
            self._news(one)  # its end may have come after the last look at its events

    def _news(self, one: Followed) -> bool:
        """Tell what happened since the last look; whether anything did."""
        heard = False
        while events := self._store.events(one.task.id, one.view.seq, _PAGE):
            heard = True
            for event in events:
                line = one.view.take(event)
                if line is not None:
                    self._progress.tell(one.view, line)
        return heard


def _over(task: Task) -> bool:
    return task.status in TASK_FINISHED or task.status is TaskStatus.BLOCKED
