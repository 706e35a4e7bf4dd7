"""Parking, stopping and ending: what a function does then, and what it must not do."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from keptstep import App, BadInput, Registry, Result, Run, StepFailed, tool, workflow
from keptstep.models.events import EventKind
from keptstep.models.states import TaskStatus


def until(met: Callable[[], bool], what: str) -> None:
    """Wait until a condition is met."""
    for _ in range(600):
        if met():
            return
        threading.Event().wait(0.03)
    raise AssertionError(f"it never came to this: {what}")


@pytest.mark.parametrize("stop", ["park", "close"])
def test_a_function_that_cleans_up_while_it_is_stopped_starts_no_step(
    open_app: Callable[..., App], registry: Registry, stop: str
) -> None:
    order: list[str] = []
    began, let_go = threading.Event(), threading.Event()

    @tool(registry=registry, effect="none")
    def slow() -> int:
        began.set()
        let_go.wait(30)
        order.append("slow")
        return 1

    @tool(registry=registry)
    def clean() -> int:
        order.append("clean")
        return 2

    @workflow(registry=registry)
    async def tidy(run: Run) -> str:
        try:
            await run.step("slow", slow)
        finally:
            await run.step("clean", clean)
        return "done"

    app = open_app(park_after=0.2 if stop == "park" else 60).start()
    handle = app.submit(tidy)
    assert began.wait(20)
    if stop == "park":
        until(lambda: handle.task().status is TaskStatus.WAITING, "parked")
    else:
        app.close(grace=0.05)
        app = open_app().start()
    let_go.set()
    assert app.handle(handle.id).result(20).value == "done"
    assert order[-1] == "clean"
    assert order.count("clean") == 1


def test_a_waiting_function_is_parked_also_when_sweeps_are_more_frequent(
    open_app: Callable[..., App], registry: Registry
) -> None:
    let_go = threading.Event()

    @tool(registry=registry, effect="none")
    def slow() -> int:
        let_go.wait(30)
        return 1

    @workflow(registry=registry)
    async def patient(run: Run) -> int:
        return int((await run.step("slow", slow)).value)

    app = open_app(park_after=0.5, sweep=0.05).start()
    handle = app.submit(patient)
    until(lambda: handle.task().status is TaskStatus.WAITING, "parked")
    let_go.set()
    assert handle.result(20).value == 1


def test_a_function_that_gave_up_on_a_step_and_does_something_else_is_not_parked(
    app: App, registry: Registry
) -> None:
    entered: list[int] = []

    @tool(registry=registry)
    def unsure() -> int:
        raise ConnectionResetError

    @workflow(registry=registry)
    async def moving_on(run: Run) -> str:
        entered.append(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.step("unsure", unsure), 0.1)
        await asyncio.sleep(1.0)  # longer than it takes to see that only a verdict is missing
        return "went on"

    assert app.submit(moving_on).result(20).value == "went on"
    assert entered == [1]


@pytest.mark.slow
def test_a_function_that_raises_after_it_waited_is_not_retried_for_ever(
    app: App, registry: Registry
) -> None:
    entered: list[int] = []
    let_go = threading.Event()

    @tool(registry=registry, effect="none")
    def slow() -> int:
        let_go.wait(30)
        return 1

    @workflow(registry=registry, attempts=2)
    async def hasty(run: Run) -> None:
        entered.append(1)
        await asyncio.wait_for(run.step("slow", slow), 0.05)

    try:
        assert app.submit(hasty).wait(30).status is TaskStatus.FAILED
        assert len(entered) == 2
    finally:
        let_go.set()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_code_that_tries_to_end_the_process_ends_only_its_own_task(
    app: App, registry: Registry, error: BaseException
) -> None:
    @tool(registry=registry, effect="none", retry=1)
    async def leaving() -> int:
        raise error

    @tool(registry=registry, effect="none")
    async def staying() -> int:
        return 1

    @workflow(registry=registry)
    async def by_tool(run: Run) -> None:
        await run.step("leave", leaving)

    @workflow(registry=registry, attempts=1)
    async def by_function(run: Run) -> None:
        raise error

    @workflow(registry=registry)
    async def fine(run: Run) -> int:
        return int((await run.step("stay", staying)).value)

    for bad in (by_tool, by_function):
        assert app.submit(bad).wait(20).status is TaskStatus.FAILED
        assert app.submit(fine).result(20).value == 1


def test_a_coroutine_that_blocks_its_loop_ends_at_its_deadline_and_stops_no_other(
    app: App, registry: Registry
) -> None:
    let_go = threading.Event()

    @tool(registry=registry, effect="none", deadline=0.5, retry=1)
    async def blocking() -> int:
        let_go.wait(30)
        return 1

    @tool(registry=registry, effect="none")
    async def quick() -> int:
        return 2

    @workflow(registry=registry)
    async def bad(run: Run) -> int:
        return int((await run.step("block", blocking)).value)

    @workflow(registry=registry)
    async def good(run: Run) -> int:
        return int((await run.step("quick", quick)).value)

    try:
        task = app.submit(bad).wait(20)
        assert task.reason is not None
        assert "passed its deadline" in task.reason
        assert app.submit(good).result(20).value == 2
    finally:
        let_go.set()


def test_an_exception_that_is_returned_is_a_value_that_cannot_be_kept_not_one_raised(
    app: App, registry: Registry
) -> None:
    entered: list[int] = []

    @workflow(registry=registry)
    async def returning(run: Run) -> ValueError:
        entered.append(1)
        return ValueError("a value")

    task = app.submit(returning).wait(20)
    assert task.status is TaskStatus.FAILED
    assert task.reason == "the workflow function raised NotSerializable"
    assert len(entered) == 1


def test_a_step_input_that_cannot_be_kept_is_refused_where_it_is_given(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none")
    def same(n: float) -> float:
        return n

    @workflow(registry=registry)
    async def careful(run: Run) -> str:
        with pytest.raises(BadInput):
            await run.step("nan", same, n=float("nan"))
        return str((await run.step("one", same, n=1.5)).value)

    assert app.submit(careful).result(20).value == "1.5"


def test_what_a_function_makes_of_an_error_s_text_is_kept_like_a_payload(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none", retry=1)
    def bad() -> int:
        raise ValueError("SECRET-PAYLOAD-4711")

    @tool(registry=registry, effect="none")
    def report(text: str) -> int:
        return len(text)

    @workflow(registry=registry)
    async def telling(run: Run) -> Result[int]:
        with pytest.raises(StepFailed) as failed:
            await run.step("bad", bad)
        return await run.step("report", report, text=failed.value.detail[-40:])

    handle = app.submit(telling)
    handle.result(20)
    assert all(
        step.input is None or "4711" not in step.input for step in app.store.steps(handle.id)
    )


def test_a_call_whose_arguments_cannot_be_made_is_not_an_uncertain_one(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry)
    def pay(amount: int) -> int:
        return amount

    @workflow(registry=registry)
    async def paying(run: Run) -> None:
        await run.step("pay", pay, amount="many")

    task = app.submit(paying).wait(20)
    assert task.status is TaskStatus.FAILED, "it was never called, so nobody has to be asked"
    kinds = {event.kind for event in app.store.events(task.id)}
    assert EventKind.STEP_UNCERTAIN not in kinds


def test_a_payload_that_its_row_could_not_hold_fails_at_once(app: App, registry: Registry) -> None:
    from keptstep import Payload

    @tool(registry=registry, effect="none", retry=1)
    def odd(media: object) -> Payload:
        return Payload(b"x", media_type="x" * 300 if media == "long" else None)  # type: ignore[arg-type]

    @workflow(registry=registry)
    async def making(run: Run, media: str) -> None:
        await run.step("odd", odd, media=media)

    for media in ("long", "none"):
        task = app.submit(making, media=media).wait(20)
        assert "cannot be kept" in (task.reason or "")


def test_awaiting_a_result_for_a_second_takes_a_second(app: App, registry: Registry) -> None:
    let_go = threading.Event()

    @tool(registry=registry, effect="none")
    def slow() -> int:
        let_go.wait(20)
        return 1

    @workflow(registry=registry)
    async def waiting(run: Run) -> int:
        return int((await run.step("slow", slow)).value)

    async def program() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(app.submit(waiting).aresult(), 0.3)

    asyncio.run(program())
    assert not let_go.is_set(), "the loop ended although the task goes on"
    let_go.set()


@pytest.mark.parametrize(
    "declared",
    [{"deadline": float("inf")}, {"deadline": 0}, {"effect": "no"}, {"artifact_class": 9}],
)
def test_a_tool_declared_with_what_cannot_be_is_refused(
    registry: Registry, declared: dict[str, object]
) -> None:
    with pytest.raises(BadInput):
        tool(registry=registry, **declared)(lambda: 1)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["a?1", "b%20c", "c#d", "e f", "ü"])
def test_a_home_may_have_any_name(tmp_path: object, registry: Registry, name: str) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    home = tmp_path / name
    app = App.open(home, registry=registry)
    app.close()
    assert (home / "keptstep.db").exists()
    assert [path.name for path in tmp_path.iterdir()] == [name]
