"""Who waits for a task is told when only a person can move it, in a program or an event loop."""

import asyncio

import pytest

from keptstep import App, Registry, Run, TaskBlocked, tool, workflow


def test_waiting_ends_when_only_a_verdict_can_move_the_task(app: App, registry: Registry) -> None:
    @tool(registry=registry)
    def send() -> str:
        raise TimeoutError

    @tool(registry=registry, effect="none")
    def read() -> int:
        return 1

    @workflow(registry=registry)
    async def both(run: Run) -> int:
        return len(await run.gather(run.step("send", send), run.step("read", read)))

    handle = app.submit(both)
    with pytest.raises(TaskBlocked, match="step send is uncertain"):
        handle.result(20)


def test_a_program_in_an_event_loop_awaits_the_result(app: App, registry: Registry) -> None:
    @tool(registry=registry, effect="none")
    async def read() -> int:
        await asyncio.sleep(0)
        return 7

    @workflow(registry=registry)
    async def one(run: Run) -> int:
        return int((await run.step("read", read)).value)

    async def program() -> int:
        handles = [app.submit(one) for _ in range(3)]
        results = await asyncio.gather(*(handle.aresult(20) for handle in handles))
        return sum(result.value for result in results)

    assert asyncio.run(program()) == 21
