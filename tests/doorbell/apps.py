"""Apps of one home that share a Redis, and a workflow whose calls are counted."""

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenacity import wait_fixed

from keptstep import App, Registry, RetryPolicy, Run, Settings, tool, workflow
from keptstep.models.ids import TaskId
from keptstep.models.states import StepStatus

EAGER = RetryPolicy(attempts=50, wait=wait_fixed(0.2))


class Home:
    """A home with a registry; `calls` counts how often each step's tool was called.

    A call waits while `hold` is not set. A step whose number is in `flaky` fails once.
    """

    def __init__(self, folder: Path, url: str) -> None:
        import keptstep.workers.builtin  # noqa: F401 - registers the built-in tools

        self.folder = folder
        self.url = url
        self.calls: Counter[int] = Counter()
        self.hold = threading.Event()
        self.hold.set()
        self.flaky: set[int] = set()
        self.registry = Registry()
        self._opened: list[App] = []
        self.fan = self._workflow()

    def app(self, **settings: Any) -> App:
        """Open one more process's worth of app; it is closed at the end."""
        given = {"sweep": 0.1, "workers": 4, "grace": 2.0, "redis_url": self.url} | settings
        made = App.open(settings=Settings.load(self.folder, {}, **given), registry=self.registry)
        self._opened.append(made)
        return made

    def close(self) -> None:
        """Close everything."""
        self.hold.set()
        for app in self._opened:
            app.close()

    def _workflow(self) -> Any:
        @tool(registry=self.registry, effect="none", retry=EAGER)
        def work(n: int) -> int:
            self.calls[n] += 1
            assert self.hold.wait(30)
            if n in self.flaky and self.calls[n] == 1:
                raise ConnectionResetError
            return n

        @workflow(registry=self.registry)
        async def fan(run: Run, count: int) -> int:
            steps = (run.step(f"work:{n}", work, n=n) for n in range(count))
            return sum(one.value for one in await run.gather(steps))

        return fan


def every_step_once(app: App, task: TaskId, count: int) -> None:
    """Check that each step is done, by exactly one attempt that was recorded as done."""
    steps = app.store.steps(task)
    assert [step.status for step in steps] == [StepStatus.DONE] * count
    for step in steps:
        outcomes = [attempt.outcome for attempt in app.store.attempts(step.id)]
        assert outcomes.count("done") == 1, (step.name, outcomes)


def waiting(app: App, task: TaskId) -> Callable[[], int]:
    """Return a function that counts the steps of a task that are not done."""
    return lambda: len(app.store.unfinished(task))
