"""Which step comes next, and which may run side by side (R2, D41)."""

from __future__ import annotations

import pytest

from keptstep.models.ids import StepId
from keptstep.models.records import Step
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.testing.builders import a_step, identity
from keptstep.workflows.kernel import next_unfinished_step, runnable_steps

S = StepStatus


def step(position: int, status: StepStatus, *needs: Step, **values: object) -> Step:
    return a_step(
        status,
        id=StepId(identity("step", position)),
        position=position,
        needs=tuple(need.id for need in needs),
        **values,
    )


def test_the_first_step_that_is_not_finished_comes_next() -> None:
    running = step(3, S.RUNNING)
    assert (
        next_unfinished_step([step(1, S.DONE), step(2, S.FAILED), running, step(4, S.PENDING)])
        == running
    )


def test_nothing_comes_next_when_all_are_finished_or_there_are_none() -> None:
    assert next_unfinished_step([]) is None
    assert next_unfinished_step([step(1, S.DONE), step(2, S.FAILED), step(3, S.CANCELLED)]) is None


def test_the_order_is_the_steps_own_and_not_the_lists() -> None:
    first = step(1, S.READY)
    assert next_unfinished_step([step(2, S.READY), first]) == first


@pytest.mark.parametrize("status", StepStatus)
def test_every_status_that_is_not_finished_can_come_next(status: StepStatus) -> None:
    expected = None if status in STEP_FINISHED else status
    found = next_unfinished_step(iter([step(1, status)]))
    assert (found.status if found else None) == expected


def test_independent_ready_steps_may_run_side_by_side() -> None:
    done = step(1, S.DONE)
    ready = [step(2, S.READY), step(3, S.READY, done)]
    assert runnable_steps([done, *ready], now=0.0) == ready


def test_a_step_does_not_run_before_its_needs_are_done() -> None:
    for status in set(StepStatus) - {S.DONE}:
        need = step(1, status, lease_until=9.0 if status is S.RUNNING else None)
        waiting = step(2, S.READY, need)
        assert waiting not in runnable_steps([need, waiting], now=0.0)


def test_a_step_that_is_not_due_does_not_run_yet() -> None:
    later = step(1, S.READY, due_at=10.0)
    assert runnable_steps([later], now=9.0) == []
    assert runnable_steps([later], now=10.0) == [later]


def test_a_step_whose_lease_ended_may_run_again() -> None:
    expired = step(1, S.RUNNING, lease_until=5.0)
    assert runnable_steps([expired], now=4.0) == []
    assert runnable_steps([expired], now=5.0) == [expired]
