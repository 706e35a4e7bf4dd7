"""A program that works on its own task leaves everybody else's alone."""

from collections.abc import Callable

from keptstep import App, Registry, Run, tool, workflow
from keptstep.models.states import StepStatus, TaskStatus


def test_with_only_a_side_effect_of_another_task_is_not_begun(
    open_app: Callable[..., App], registry: Registry
) -> None:
    called: list[str] = []

    @tool(registry=registry)
    def send(who: str) -> str:
        called.append(who)
        return who

    @workflow(registry=registry)
    async def sending(run: Run, who: str) -> str:
        return str((await run.step("send", send, who=who)).value)

    theirs = open_app().submit(sending, who="them")
    app = open_app().start(only=())
    mine = app.submit(sending, who="me")
    assert mine.result(20).value == "me"
    app.close()
    assert called == ["me"]
    later = open_app()
    assert later.store.task(theirs.id).status is TaskStatus.READY
    assert later.store.steps(theirs.id) == []


def test_with_only_the_named_task_is_resumed_and_the_dead_are_still_recovered(
    open_app: Callable[..., App], registry: Registry
) -> None:
    @tool(registry=registry, effect="none")
    def read(n: int) -> int:
        return n

    @workflow(registry=registry)
    async def reading(run: Run, n: int) -> int:
        return int((await run.step("read", read, n=n)).value)

    submitting = open_app()
    first, second = submitting.submit(reading, n=1), submitting.submit(reading, n=2)
    app = open_app().start(only=[second.id])
    assert app.handle(second.id).result(20).value == 2
    assert app.store.task(first.id).status is TaskStatus.READY
    assert all(step.status is StepStatus.DONE for step in app.store.steps(second.id))
