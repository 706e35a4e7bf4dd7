"""What becomes of calls that raise, hang or return what cannot be kept."""

import math
import threading
from typing import Any

import pytest

from keptstep import App, Effect, NotSent, Permanent, Refused, Registry, Run, tool, workflow
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId
from keptstep.models.states import StepStatus, TaskStatus


def run_one(app: App, registry: Registry, function: Any, **declared: Any) -> TaskId:
    """Submit a workflow of one step ``it`` that runs ``function``; return the task's id."""
    made = tool(registry=registry, **declared)(function)

    @workflow(registry=registry)
    async def single(run: Run) -> Any:
        return await run.step("it", made)

    return app.submit(single).id


def wait_for(app: App, task_id: TaskId, *statuses: StepStatus) -> Any:
    """Return the step once it has one of the statuses."""
    for _ in range(600):
        steps = app.store.steps(task_id)
        if steps and steps[0].status in statuses:
            return steps[0]
        threading.Event().wait(0.05)
    raise AssertionError(f"the step is {steps[0].status if steps else 'not planned'}")


def test_a_read_that_raises_is_tried_again_up_to_its_cap_and_then_is_a_dead_letter(
    app: App, registry: Registry
) -> None:
    from tenacity import wait_none

    from keptstep import RetryPolicy

    calls: list[int] = []

    def flaky() -> int:
        calls.append(1)
        raise ConnectionError("down")

    policy = RetryPolicy(attempts=3, wait=wait_none())
    task_id = run_one(app, registry, flaky, effect="none", retry=policy)
    task = app.handle(task_id).wait(20)
    assert len(calls) == 3
    assert task.status is TaskStatus.FAILED
    step = app.store.steps(task_id)[0]
    assert step.status is StepStatus.FAILED
    assert step.reason == "the call raised in the last of 3 attempts"
    assert step.error is not None
    assert step.error.kind == "ConnectionError"
    assert [one.outcome for one in app.store.attempts(step.id)] == ["failed"] * 3


def test_a_wait_between_attempts_is_a_due_time_in_the_row_not_a_sleeping_worker(
    app: App, registry: Registry
) -> None:
    from tenacity import wait_fixed

    from keptstep import RetryPolicy

    def flaky() -> int:
        raise ConnectionError

    policy = RetryPolicy(attempts=2, wait=wait_fixed(3600))
    task_id = run_one(app, registry, flaky, effect="none", retry=policy)
    for _ in range(200):
        events = app.store.events(task_id)
        if any(event.kind is EventKind.STEP_RETRY for event in events):
            break
        threading.Event().wait(0.05)
    step = app.store.steps(task_id)[0]
    assert step.status is StepStatus.READY
    assert 3500 < step.due_at - app.store.now() <= 3600


@pytest.mark.parametrize("error", [ValueError("who knows"), Permanent("no")])
def test_a_side_effect_that_raises_is_uncertain_and_not_repeated(
    app: App, registry: Registry, error: Exception
) -> None:
    calls: list[int] = []

    def send() -> int:
        calls.append(1)
        raise error

    task_id = run_one(app, registry, send)
    step = wait_for(app, task_id, StepStatus.UNCERTAIN, StepStatus.FAILED)
    assert step.status is StepStatus.UNCERTAIN
    assert step.effect is Effect.SIDE_EFFECT, "undeclared means side effect"
    threading.Event().wait(0.3)  # several sweeps
    assert calls == [1]


def test_a_side_effect_that_says_it_was_not_sent_may_be_tried_again(
    app: App, registry: Registry
) -> None:
    from tenacity import wait_none

    from keptstep import RetryPolicy

    calls: list[int] = []

    def send() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise NotSent
        return "sent"

    task_id = run_one(app, registry, send, retry=RetryPolicy(wait=wait_none()))
    assert app.handle(task_id).result(20).value == "sent"
    assert len(calls) == 2


def test_a_side_effect_that_was_refused_fails_for_good(app: App, registry: Registry) -> None:
    def send() -> str:
        raise Refused("402")

    task_id = run_one(app, registry, send)
    assert app.handle(task_id).wait(20).status is TaskStatus.FAILED
    assert app.store.steps(task_id)[0].status is StepStatus.FAILED


@pytest.mark.slow
def test_a_call_that_hangs_ends_at_its_deadline_sync_and_async(
    app: App, registry: Registry
) -> None:
    import asyncio

    let_go = threading.Event()

    def hang() -> int:
        let_go.wait(30)
        return 1

    async def hang_too() -> int:
        await asyncio.sleep(30)
        return 1

    try:
        for function in (hang, hang_too):
            task_id = run_one(app, registry, function, effect="none", deadline=0.5, retry=1)
            assert app.handle(task_id).wait(20).status is TaskStatus.FAILED
            step = app.store.steps(task_id)[0]
            assert step.reason == "the call passed its deadline in the last of 1 attempts"
    finally:
        let_go.set()


@pytest.mark.parametrize(
    "value",
    [math.nan, {"a": [math.inf]}, {1: "x"}, object(), {"s": {1, 2}}],
    ids=["nan", "infinity", "a key that is no text", "an object", "a set"],
)
def test_a_result_that_cannot_be_kept_fails_the_step_at_once(
    app: App, registry: Registry, value: object
) -> None:
    calls: list[int] = []

    def odd() -> object:
        calls.append(1)
        return value

    task_id = run_one(app, registry, odd, effect="none", retry=5)
    assert app.handle(task_id).wait(20).status is TaskStatus.FAILED
    step = app.store.steps(task_id)[0]
    assert step.reason == "the call returned what cannot be kept: trying again cannot help"
    assert calls == [1]


def test_a_result_nested_200000_deep_fails_with_a_reason(app: App, registry: Registry) -> None:
    def deep() -> object:
        value: list[Any] = []
        for _ in range(200_000):
            value = [value]
        return value

    task_id = run_one(app, registry, deep, effect="none")
    assert app.handle(task_id).wait(20).status is TaskStatus.FAILED
    assert "cannot be kept" in (app.store.steps(task_id)[0].reason or "")


def test_a_result_over_the_limit_leaves_nothing_behind(app: App, registry: Registry) -> None:
    def big() -> bytes:
        return b"y" * 5000

    task_id = run_one(app, registry, big, effect="none", max_result=4096)
    assert app.handle(task_id).wait(20).status is TaskStatus.FAILED
    assert not any(path.stat().st_size == 5000 for path in app.settings.blobs.rglob("*"))


def test_text_with_a_lone_surrogate_nul_and_every_odd_character_comes_back_as_it_was(
    app: App, registry: Registry
) -> None:
    odd = "a\x00b\ud800c\u202e\x1b[31m\ufeff"

    def text() -> str:
        return odd

    task_id = run_one(app, registry, text, effect="none")
    assert app.handle(task_id).result(20).value == odd


@pytest.mark.slow
def test_a_workflow_that_raises_is_tried_again_and_fails_at_its_cap(
    app: App, registry: Registry
) -> None:
    entered: list[int] = []

    @workflow(registry=registry, attempts=2)
    async def broken(run: Run) -> int:
        entered.append(1)
        raise KeyError("a-secret-key")

    task = app.submit(broken).wait(30)
    assert task.status is TaskStatus.FAILED
    assert task.reason == "the workflow function raised KeyError"
    assert len(entered) == 2


def test_a_failed_step_is_delivered_once_and_finally(app: App, registry: Registry) -> None:
    from keptstep import StepFailed

    caught: list[str] = []

    def bad() -> int:
        raise Permanent("never")

    made = tool(registry=registry, effect="none")(bad)

    @workflow(registry=registry)
    async def careful(run: Run) -> str:
        try:
            await run.step("bad", made)
        except StepFailed as failed:
            caught.append(failed.step)
        return "went on"

    assert app.submit(careful).result(20).value == "went on"
    assert caught == ["bad"]


@pytest.mark.slow
def test_a_stream_that_breaks_is_a_failed_attempt_and_one_that_drips_ends_at_the_deadline(
    app: App, registry: Registry
) -> None:
    from collections.abc import Iterator

    from keptstep import Payload

    let_go = threading.Event()

    def breaking() -> Iterator[bytes]:
        yield b"begun"
        raise ConnectionResetError

    def dripping() -> Iterator[bytes]:
        while not let_go.wait(0.02):
            yield b"."

    def broken() -> Payload:
        return Payload(breaking())

    def endless() -> Payload:
        return Payload(dripping())

    try:
        for function, why in ((broken, "raised"), (endless, "passed its deadline")):
            task_id = run_one(app, registry, function, effect="none", deadline=1.0, retry=1)
            assert app.handle(task_id).wait(20).status is TaskStatus.FAILED
            step = app.store.steps(task_id)[0]
            assert step.reason == f"the call {why} in the last of 1 attempts"
    finally:
        let_go.set()


def test_a_workflow_function_that_will_not_be_cancelled_does_not_hold_up_the_end(
    app: App, registry: Registry
) -> None:
    import asyncio

    entered = threading.Event()

    @workflow(registry=registry)
    async def stubborn(run: Run) -> int:
        entered.set()
        for _ in range(100):
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                continue
        return 1

    app.submit(stubborn)
    assert entered.wait(20)
    app.close(grace=0.2)


def test_a_time_out_of_the_tool_s_own_is_an_exception_like_any_other(
    app: App, registry: Registry
) -> None:
    from tenacity import wait_none

    from keptstep import RetryPolicy

    called: list[int] = []

    async def slow_site() -> int:
        called.append(1)
        if len(called) == 1:
            raise TimeoutError
        return 7

    task = run_one(
        app, registry, slow_site, effect="none", retry=RetryPolicy(attempts=2, wait=wait_none())
    )
    assert wait_for(app, task, StepStatus.DONE, StepStatus.FAILED).status is StepStatus.DONE
    assert [attempt.outcome for attempt in app.store.attempts(app.store.steps(task)[0].id)] == [
        "failed",
        "done",
    ]
