"""The same table where a real Redis carries the bells: a message may be taken and not done."""

import pytest

from keptstep.testing.crash import CrashTest
from tests.crash.row import EFFECTS
from tests.crash.test_windows import STAYS, expected, outcome, the_step

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]

#: Around the message of a step: before it is sent, sent, its step claimed, its step done and the
#: message not acknowledged, and then the next one not sent.
AROUND = (
    "plan.committed",
    "ring.step",
    "claim.committed",
    "finish.committed",
    "show",
    "ring.task",
)


@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_around_a_message_a_step_becomes_what_the_table_says(
    redis_url: str, effect: str
) -> None:
    settings = {"redis_url": redis_url}
    with CrashTest("tests.crash.row:row", {"effect": effect}, settings=settings) as test:
        for point in AROUND:
            trial = test.die_at(point, 2)
            assert trial is not None, point
            assert trial.broken == (), point
            assert outcome(the_step(trial, 2)) == expected(point, effect), point


@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_at_the_end_of_the_task_no_step_runs_again(redis_url: str, effect: str) -> None:
    settings = {"redis_url": redis_url}
    with CrashTest("tests.crash.row:row", {"effect": effect}, settings=settings) as test:
        for point in ("advance.returned", "advance.finished"):
            trial = test.die_at(point)
            assert trial is not None, point
            assert trial.broken == (), point
            assert {outcome(step) for step in trial.steps} == {STAYS}, point


@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_with_a_message_just_taken_every_rule_holds(redis_url: str, effect: str) -> None:
    # A message may come twice: whose it was that the process died with is not known.
    settings = {"redis_url": redis_url}
    with CrashTest("tests.crash.row:row", {"effect": effect}, settings=settings) as test:
        trial = test.die_at("claim.before", 2)
    assert trial is not None
    assert trial.broken == ()


def test_a_worker_paused_with_its_message_changes_nothing_when_it_goes_on(redis_url: str) -> None:
    settings = {"redis_url": redis_url}
    with CrashTest("tests.crash.row:row", {"effect": "side effect"}, settings=settings) as test:
        trial = test.be_paused_at("call.returned", 2)
    assert trial is not None
    assert trial.broken == ()
    assert (the_step(trial, 2).ended, the_step(trial, 2).late) == ("uncertain", 1)
