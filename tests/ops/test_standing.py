"""Whether anything here may move a task, and what is said when nothing may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keptstep import App
from keptstep.models.artifacts import Effect
from keptstep.models.ids import TaskId, WorkerId
from keptstep.models.records import Failure, Kept, Step, Task
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.ops.standing import Known, standstill
from keptstep.testing.builders import a_step, new_step
from tests.ops.conftest import Command

S = StepStatus
KNOWN = Known({"demo.say"}, {"search"})
UNCERTAIN = a_step(S.UNCERTAIN, name="pay")


@pytest.fixture
def task(opened: App, submitted: Callable[..., str]) -> Callable[[TaskStatus], Task]:
    """Return a function that gives a task in a status."""
    from dataclasses import replace

    task = opened.store.task(TaskId(bytes.fromhex(submitted("demo.say", text="x"))))
    return lambda status: replace(task, status=status)


@pytest.mark.parametrize(
    ("status", "steps", "said"),
    [
        (TaskStatus.READY, [UNCERTAIN], None),
        (TaskStatus.RUNNING, [], None),
        (TaskStatus.RUNNING, [UNCERTAIN], "step pay is uncertain"),
        (TaskStatus.WAITING, [UNCERTAIN, a_step(S.PENDING)], "step pay is uncertain"),
        (TaskStatus.WAITING, [UNCERTAIN, a_step(S.RUNNING)], None),
        (TaskStatus.WAITING, [UNCERTAIN, a_step(S.READY)], None),
        (TaskStatus.WAITING, [a_step(S.READY)], None),
        (TaskStatus.WAITING, [a_step(S.READY, tool="other")], "needs the tool other"),
        (TaskStatus.WAITING, [a_step(S.READY, tool="other"), a_step(S.READY)], None),
        (TaskStatus.WAITING, [a_step(S.RUNNING, tool="other")], None),
    ],
)
def test_a_task_stands_still_only_when_nothing_can_move_it(
    task: Callable[[TaskStatus], Task], status: TaskStatus, steps: list[Step], said: str | None
) -> None:
    reason = standstill(task(status), steps, KNOWN)
    assert reason is None if said is None else said in (reason or "")


def test_a_ready_task_of_an_unknown_workflow_stands_still(
    task: Callable[[TaskStatus], Task],
) -> None:
    reason = standstill(task(TaskStatus.READY), [], Known(set(), set()))
    assert reason == "its workflow demo.say is not known here"


def test_lists_say_that_a_task_waits_for_a_verdict(
    inside: Command, opened: App, submitted: Callable[..., str]
) -> None:
    worker = WorkerId("00000000-elsewhere")
    task = TaskId(bytes.fromhex(submitted("demo.pay", gate="x")))
    advance = opened.store.claim_task(task, worker, 60.0)
    assert advance is not None
    (step,) = opened.store.plan(advance, [new_step("pay", effect=Effect.SIDE_EFFECT)])
    lease = opened.store.claim_step(step.id, worker, 60.0)
    assert lease is not None
    opened.store.block(lease, Failure("whether it acted is not known", Kept("OSError")))
    assert "running, uncertain" in inside("ls").out
    assert "running, uncertain" in inside("show", task.hex()).out
    assert inside("ls", "--json").document[0]["verdict_needed"] == step.id.hex()
    assert inside("show", task.hex(), "--json").document["verdict_needed"] == step.id.hex()
