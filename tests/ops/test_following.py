"""Following a task: its last line is told, whenever it ends between two looks."""

from __future__ import annotations

from typing import Any

from keptstep.models.ids import TaskId, WorkerId
from keptstep.models.stores.memory import MemoryTaskStore
from keptstep.ops.following import Following
from keptstep.ops.progress import Progress
from keptstep.ops.stopping import Stop
from keptstep.ops.watching import Line
from keptstep.testing.builders import new_step, new_task, payload
from keptstep.testing.clock import FakeClock


class EndsBetweenTwoReads(MemoryTaskStore):
    """A store whose task is finished after its events were read and before its row is."""

    lease: Any = None

    def task(self, task_id: TaskId) -> Any:
        if self.lease is not None:
            lease, self.lease = self.lease, None
            self.finish_task(lease, payload())
        return super().task(task_id)


class Told(Progress):
    """What a person was told."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def tell(self, view: object, line: Line) -> None:
        self.lines.append(line)

    def refresh(self, views: object, now: float) -> None: ...

    def close(self) -> None: ...


def test_the_end_is_told_though_it_came_between_events_and_row() -> None:
    store, told = EndsBetweenTwoReads(FakeClock()), Told()
    following = Following(store, told, lambda *_: None)
    task, _ = store.submit(new_task())
    one = following.add(task.id)
    lease = store.claim_task(task.id, WorkerId("ann"), 15.0)
    assert lease is not None
    store.plan(lease, [new_step()])
    store.lease = lease
    following.run([one], Stop())
    assert [line.text for line in told.lines][-1] == "done"
