"""Code that changed under a running task: told, kept apart, and an operator chooses."""

import threading
from collections.abc import Callable

import pytest

from keptstep import App, BadInput, Registry, Run, TaskBlocked, tool, workflow
from keptstep.models.states import StepStatus, TaskStatus


@pytest.mark.slow
def test_another_input_under_a_known_name_stops_the_task_with_a_readable_diff(
    open_app: Callable[..., App], registry: Registry
) -> None:
    word = ["old"]
    fail_once = [True]

    @tool(registry=registry, effect="none")
    def say(text: str) -> str:
        return text

    @workflow(registry=registry)
    async def changing(run: Run) -> str:
        said = await run.step("say", say, text=word[0])
        if fail_once:
            fail_once.clear()
            word[0] = "new-secret-word"
            raise RuntimeError
        return str(said.value)

    app = open_app().start()
    handle = app.submit(changing)
    task = handle.wait(20)
    assert task.status is TaskStatus.BLOCKED
    assert task.reason == ("step say was planned before and comes back changed: input text"), (
        "the row names the parameter, never its value"
    )
    assert task.error is not None
    assert task.error.artifact_id is not None
    diff = app.artifacts.read(app.store.artifact(task.error.artifact_id).sha).decode()
    assert '-    "text": "old"' in diff
    assert '+    "text": "new-secret-word"' in diff
    with pytest.raises(TaskBlocked, match="waits for an operator"):
        handle.result(1)
    assert [step.status for step in app.store.steps(handle.id)] == [StepStatus.DONE]

    word[0] = "old"
    app.store.reopen_task(handle.id, by="ann", why="put the old text back")
    for _ in range(400):
        if handle.task().status is TaskStatus.DONE:
            break
        threading.Event().wait(0.05)
    assert handle.result(1).value == "old"


@pytest.mark.slow
def test_a_function_cannot_catch_its_way_past_a_plan_difference(
    app: App, registry: Registry
) -> None:
    entered: list[int] = []

    @tool(registry=registry, effect="none")
    def say(n: int) -> int:
        return n

    @workflow(registry=registry)
    async def sly(run: Run) -> str:
        entered.append(1)
        try:
            await run.step("say", say, n=len(entered))
        except Exception:
            return "hidden"
        if len(entered) == 1:
            raise RuntimeError
        return "done"

    assert app.submit(sly).wait(20).status is TaskStatus.BLOCKED


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "é", "x" * 129, "a\n", "\x00"])
def test_a_step_name_that_is_none_is_refused_before_anything_is_planned(
    app: App, registry: Registry, name: str
) -> None:
    @tool(registry=registry, effect="none")
    def one() -> int:
        return 1

    @workflow(registry=registry)
    async def named(run: Run) -> int:
        await run.step(name, one)
        return 1

    handle = app.submit(named)
    task = handle.wait(20)
    assert task.status is TaskStatus.FAILED
    assert task.reason == "the workflow function raised BadInput"
    assert app.store.steps(handle.id) == []


def test_one_name_twice_in_one_run_is_refused(app: App, registry: Registry) -> None:
    @tool(registry=registry, effect="none")
    def one() -> int:
        return 1

    @workflow(registry=registry)
    async def twice(run: Run) -> int:
        await run.step("same", one)
        await run.step("same", one)
        return 1

    task = app.submit(twice).wait(20)
    assert task.status is TaskStatus.FAILED
    assert task.error is not None
    assert task.error.kind == "DuplicateStep"


def test_inputs_that_do_not_fit_are_refused_when_they_are_submitted(
    app: App, registry: Registry
) -> None:
    @workflow(registry=registry)
    async def wants(run: Run, n: int) -> int:
        return n

    with pytest.raises(BadInput, match="needs n"):
        app.submit(wants)
    with pytest.raises(BadInput, match="has no parameter m"):
        app.submit(wants, n=1, m=2)
    with pytest.raises(BadInput):
        app.submit(wants, n=float("nan"))
    assert app.store.tasks() == []
