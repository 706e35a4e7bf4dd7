"""Queues of one home, as different processes would have them, and what they ran."""

import threading
from collections.abc import Callable
from pathlib import Path

from keptstep import Settings
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.workers.broker import StepQueue
from keptstep.workers.lease_broker.doorbell import Ears, redis_queue
from keptstep.workers.lease_broker.server import connect


class Ran:
    """What a queue ran, in order; `hold` keeps the next runs inside until it is set."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.hold = threading.Event()
        self.hold.set()
        self.during: Callable[[StepId], None] = lambda _step_id: None

    def __call__(self, one: StepId) -> None:
        self.steps.append(int.from_bytes(one))
        self.during(one)
        assert self.hold.wait(30)


class Queues:
    """Starts queues; nothing but them rings, so what is lost stays lost."""

    def __init__(self, url: str, home: Path) -> None:
        self._url = url
        self._home = home
        self._opened: list[StepQueue] = []

    def __call__(
        self,
        ran: Callable[[StepId], None],
        tools: tuple[str, ...] = ("read",),
        *,
        heard: Callable[[TaskId], None] = lambda _task_id: None,
        missed: Callable[[], None] = lambda: None,
        workers: int = 4,
    ) -> StepQueue:
        """Start the queue of one more process; the first worker is called w0."""
        settings = Settings.load(self._home, {}, redis_url=self._url, workers=workers)
        ears = Ears(lambda: tools, ran, heard, missed)
        worker = WorkerId(f"w{len(self._opened)}")
        made = redis_queue(connect(self._url), settings, worker, ears)
        made.start()
        self._opened.append(made)
        return made

    def close(self) -> None:
        """Stop them all."""
        for one in self._opened:
            one.stop(1.0)
