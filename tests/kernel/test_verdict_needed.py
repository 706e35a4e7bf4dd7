"""When only a verdict can move a task."""

import pytest

from keptstep.models.records import Step
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.testing.builders import a_step
from keptstep.workflows.kernel import verdict_needed

_S = StepStatus


def steps(*statuses: StepStatus) -> list[Step]:
    """Return steps of these statuses, by position."""
    return [a_step(status, position=place) for place, status in enumerate(statuses, start=1)]


@pytest.mark.parametrize("other", sorted({*STEP_FINISHED, _S.PENDING, _S.UNCERTAIN}))
def test_an_uncertain_step_keeps_the_task_when_nothing_else_can_move(
    other: StepStatus,
) -> None:
    found = verdict_needed(steps(_S.DONE, _S.UNCERTAIN, other))
    assert found is not None
    assert found.position == 2


@pytest.mark.parametrize("other", [_S.READY, _S.RUNNING, _S.WAITING])
def test_while_something_else_may_move_nobody_is_asked(other: StepStatus) -> None:
    assert verdict_needed(steps(_S.UNCERTAIN, other)) is None


def test_without_an_uncertain_step_nobody_is_asked() -> None:
    assert verdict_needed([]) is None
    assert verdict_needed(steps(_S.DONE, _S.FAILED, _S.PENDING)) is None
