"""A second process goes on where the first one stopped: what is done is not done again."""

import threading
from collections.abc import Callable

from keptstep import App, Registry, Run, tool, workflow
from keptstep.models.events import EventKind
from keptstep.models.states import StepStatus, TaskStatus


def test_a_planned_stop_gives_work_back_uncounted_and_the_next_start_goes_on(
    open_app: Callable[..., App], registry: Registry
) -> None:
    calls: list[str] = []
    began, let_go = threading.Event(), threading.Event()

    @tool(registry=registry, effect="none")
    def quick() -> int:
        calls.append("quick")
        return 1

    @tool(registry=registry, effect="none")
    def long() -> int:
        calls.append("long")
        began.set()
        let_go.wait(30)
        return 2

    @workflow(registry=registry)
    async def both(run: Run) -> int:
        one = await run.step("quick", quick)
        two = await run.step("long", long)
        return int(one.value) + int(two.value)

    first = open_app().start()
    handle = first.submit(both)
    assert began.wait(20)
    first.close(grace=0.01)

    second = open_app()
    task = second.store.task(handle.id)
    assert task.status is TaskStatus.READY
    assert task.owner is None
    step = second.store.steps(handle.id)[1]
    assert (step.status, step.attempts) == (StepStatus.READY, 0)

    let_go.set()
    second.start()
    assert second.handle(handle.id).result(20).value == 3
    assert calls.count("quick") == 1
    assert calls.count("long") == 2, "it was cut, and it reads only: it is called again"


def test_a_lost_ring_is_found_by_the_sweeper(
    open_app: Callable[..., App], registry: Registry
) -> None:
    @tool(registry=registry, effect="none")
    def one() -> int:
        return 1

    @workflow(registry=registry)
    async def simple(run: Run) -> int:
        return int((await run.step("one", one)).value)

    submitting = open_app()  # not started: nobody is rung
    handle = submitting.submit(simple)
    working = open_app().start()
    assert working.handle(handle.id).result(20).value == 1


def test_a_function_that_waits_long_leaves_memory_and_is_entered_again(
    open_app: Callable[..., App], registry: Registry
) -> None:
    entered: list[int] = []
    let_go = threading.Event()

    @tool(registry=registry, effect="none")
    def long() -> int:
        let_go.wait(30)
        return 7

    @workflow(registry=registry)
    async def patient(run: Run) -> int:
        entered.append(1)
        return int((await run.step("long", long)).value)

    app = open_app(park_after=0.05).start()
    handle = app.submit(patient)
    parked = _wait_for_event(app, handle.id, EventKind.ADVANCE_LEFT)
    assert parked
    let_go.set()
    assert handle.result(20).value == 7
    assert len(entered) >= 2


def test_two_processes_on_one_home_share_the_work_and_do_each_step_once(
    open_app: Callable[..., App], registry: Registry
) -> None:
    calls: list[int] = []

    @tool(registry=registry, effect="none")
    def note(n: int) -> int:
        calls.append(n)
        return n

    @workflow(registry=registry)
    async def wide(run: Run) -> int:
        return len(await run.gather(run.step(f"n:{n}", note, n=n) for n in range(60)))

    apps = [open_app().start(), open_app().start()]
    handles = [apps[0].submit(wide), apps[1].submit(wide)]
    assert [handle.result(40).value for handle in handles] == [60, 60]
    assert sorted(calls) == sorted([*range(60), *range(60)])


def _wait_for_event(app: App, task_id: object, kind: EventKind) -> bool:
    for _ in range(400):
        if any(event.kind is kind for event in app.store.events(task_id)):  # type: ignore[arg-type]
            return True
        threading.Event().wait(0.05)
    return False
