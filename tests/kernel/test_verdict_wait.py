"""When a verdict may be given: only once the old holder cannot act any more (D4)."""

import pytest

from keptstep.models.ids import WorkerId
from keptstep.models.records import Attempt, Kept
from keptstep.models.states import StepStatus
from keptstep.testing.builders import a_step
from keptstep.workflows.kernel import verdict_wait

STEP = a_step(StepStatus.UNCERTAIN, deadline=600.0)
STARTED = 1000.0


def attempt(outcome: str, error: Kept | None = None) -> Attempt:
    return Attempt(STEP.id, 1, WorkerId("ann"), 1, STARTED, STARTED + 15, outcome, error)


def test_who_said_itself_how_its_call_ended_acts_no_more() -> None:
    said = attempt("uncertain", Kept("ConnectionError"))
    assert verdict_wait(STEP, said, STARTED + 1) == 0.0


def test_a_holder_that_was_or_is_proven_dead_acts_no_more() -> None:
    assert verdict_wait(STEP, attempt("died"), STARTED + 1) == 0.0
    assert verdict_wait(STEP, attempt("expired"), STARTED + 1, holder_dead=True) == 0.0


@pytest.mark.parametrize(("now", "left"), [(1.0, 599.0), (599.0, 1.0), (600.0, 0.0), (9e9, 0.0)])
def test_a_silent_holder_may_be_at_it_until_the_deadline(now: float, left: float) -> None:
    assert verdict_wait(STEP, attempt("expired"), STARTED + now) == left
    # As homes of the first schema recorded it: no error, so nobody said how the call ended.
    assert verdict_wait(STEP, attempt("uncertain"), STARTED + now) == left
