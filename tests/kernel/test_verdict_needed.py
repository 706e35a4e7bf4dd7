"""When only a verdict can move a task."""

import dataclasses

import pytest

from keptstep.models.ids import WorkerId
from keptstep.models.records import Step
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.models.stores.memory import MemoryTaskStore
from keptstep.testing import builders
from keptstep.testing.clock import FakeClock
from keptstep.workflows.kernel import verdict_needed

_S = StepStatus


@pytest.fixture(scope="module")
def step() -> Step:
    store = MemoryTaskStore(FakeClock())
    task, _ = store.submit(builders.new_task())
    lease = store.claim_task(task.id, WorkerId("w"), 9)
    assert lease is not None
    return store.plan(lease, [builders.new_step()])[0]


def steps(step: Step, *statuses: StepStatus) -> list[Step]:
    """Return steps of these statuses, by position."""
    return [
        dataclasses.replace(step, position=place, status=status)
        for place, status in enumerate(statuses, start=1)
    ]


@pytest.mark.parametrize("other", sorted({*STEP_FINISHED, _S.PENDING, _S.UNCERTAIN}))
def test_an_uncertain_step_keeps_the_task_when_nothing_else_can_move(
    step: Step, other: StepStatus
) -> None:
    found = verdict_needed(steps(step, _S.DONE, _S.UNCERTAIN, other))
    assert found is not None
    assert found.position == 2


@pytest.mark.parametrize("other", [_S.READY, _S.RUNNING, _S.WAITING])
def test_while_something_else_may_move_nobody_is_asked(step: Step, other: StepStatus) -> None:
    assert verdict_needed(steps(step, _S.UNCERTAIN, other)) is None


def test_without_an_uncertain_step_nobody_is_asked(step: Step) -> None:
    assert verdict_needed([]) is None
    assert verdict_needed(steps(step, _S.DONE, _S.FAILED, _S.PENDING)) is None
