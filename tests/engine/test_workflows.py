"""Workflows in code: named steps, fan-out, joins, results that are loaded when asked for."""

from collections.abc import Callable
from typing import Any

from keptstep import App, Registry, Result, Run, tool, workflow
from keptstep.models.states import StepStatus, TaskStatus


def test_a_result_is_passed_on_by_reference_and_arrives_as_a_value(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none")
    def first() -> dict[str, int]:
        return {"n": 1}

    @tool(registry=registry, effect="none")
    def second(given: dict[str, int]) -> int:
        return given["n"] + 1

    @workflow(registry=registry)
    async def two(run: Run) -> Result[int]:
        one = await run.step("first", first)
        return await run.step("second", second, given=one.ref)

    handle = app.submit(two)
    assert handle.result(20).value == 2
    step = app.store.steps(handle.id)[1]
    assert '"given":null' in (step.input or ""), "the row holds a place, the ref stands beside it"


def test_a_tool_that_asks_for_a_result_gets_it_unloaded(app: App, registry: Registry) -> None:
    @tool(registry=registry, effect="none")
    def make() -> bytes:
        return b"x" * 100_000

    @tool(registry=registry, effect="none")
    def measure(parts: list[Result[bytes]]) -> int:
        total = 0
        for part in parts:
            with part.open() as stream:
                total += len(stream.read())
        return total

    @workflow(registry=registry)
    async def measured(run: Run) -> Result[int]:
        made = await run.gather(run.step(f"make:{n}", make) for n in range(3))
        return await run.step("measure", measure, parts=made)

    assert app.submit(measured).result(20).value == 300_000


def test_fan_out_over_what_a_step_found_joins_in_the_order_asked_for(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none")
    def find() -> list[int]:
        return list(range(40))

    @tool(registry=registry, effect="none")
    async def square(n: int) -> int:
        return n * n

    @workflow(registry=registry)
    async def squares(run: Run) -> list[int]:
        found = await run.step("find", find)
        done = await run.gather(run.step(f"square:{n}", square, n=n) for n in found.value)
        return [one.value for one in done]

    assert app.submit(squares).result(30).value == [n * n for n in range(40)]


def test_the_steps_of_a_join_are_planned_in_one_transaction(app: App, registry: Registry) -> None:
    planned: list[int] = []
    plan = app.store.plan

    def counting(lease: Any, steps: Any) -> Any:
        planned.append(len(steps))
        return plan(lease, steps)

    app.store.plan = counting  # type: ignore[method-assign]

    @tool(registry=registry, effect="none")
    def same(n: int) -> int:
        return n

    @workflow(registry=registry)
    async def wide(run: Run) -> int:
        return len(await run.gather(run.step(f"n:{n}", same, n=n) for n in range(100)))

    assert app.submit(wide).result(30).value == 100
    assert planned == [100]


def test_values_of_chance_and_time_stay_the_same_when_the_function_runs_again(
    open_app: Callable[..., App], registry: Registry
) -> None:
    seen: list[tuple[Any, ...]] = []

    @tool(registry=registry, effect="none", retry=1)
    def broken() -> int:
        raise ValueError

    @workflow(registry=registry)
    async def chancy(run: Run) -> str:
        seen.append((await run.now(), await run.uuid(), await run.random()))
        if len(seen) < 2:
            raise RuntimeError("the first time fails")
        return "done"

    app = open_app().start()
    assert app.submit(chancy).result(30).value == "done"
    assert len(seen) == 2
    assert seen[0] == seen[1]


def test_a_failure_can_be_returned_by_a_join_and_says_which_step_and_why(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none", retry=1)
    def picky(n: int) -> int:
        if n == 1:
            raise ValueError("one is not to be had")
        return n

    @workflow(registry=registry)
    async def some(run: Run) -> list[Any]:
        ended = await run.gather(
            [run.step(f"n:{n}", picky, n=n) for n in range(3)], failures="return"
        )
        failed = [one for one in ended if not isinstance(one, Result)]
        return [failed[0].step, failed[0].reason, "one is not to be had" in failed[0].detail]

    step, reason, told = app.submit(some).result(20).value
    assert step == "n:1"
    assert "raised" in reason
    assert "one is not" not in reason
    assert told


def test_an_uncaught_failure_fails_the_task_and_leaves_the_other_steps_done(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none", retry=1)
    def bad() -> int:
        raise ValueError

    @tool(registry=registry, effect="none")
    def good() -> int:
        return 1

    @workflow(registry=registry)
    async def mixed(run: Run) -> int:
        await run.step("good", good)
        await run.step("bad", bad)
        return 0

    handle = app.submit(mixed)
    task = handle.wait(20)
    assert task.status is TaskStatus.FAILED
    assert task.reason is not None
    assert "step bad failed" in task.reason
    assert [step.status for step in app.store.steps(handle.id)] == [
        StepStatus.DONE,
        StepStatus.FAILED,
    ]


def test_a_workflow_may_call_steps_in_branches_and_loops_of_its_own(
    app: App, registry: Registry
) -> None:
    @tool(registry=registry, effect="none")
    def collatz(n: int) -> int:
        return n // 2 if n % 2 == 0 else 3 * n + 1

    @workflow(registry=registry)
    async def down(run: Run, n: int) -> int:
        count = 0
        while n != 1:
            n = (await run.step(f"step:{count}", collatz, n=n)).value
            count += 1
        return count

    assert app.submit(down, n=6).result(30).value == 8
