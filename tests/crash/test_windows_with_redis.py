"""The same table where a real Redis carries the bells: a message may be taken and not done."""

import pytest

from keptstep.testing.crash import CrashTest
from tests.crash.row import EFFECTS
from tests.crash.test_windows import RUN, STAYS, expected, outcome, the_step

# Under load a step may not be planned yet when its process is looked at: run apart for now.
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

#: Around the message: before it is sent, sent and not taken, taken and not claimed, claimed, done
#: and not acknowledged, acknowledged and the next not sent. The second step is the one to watch.
AROUND = ("plan.committed", "ring.step", "claim.before", "claim.committed", "finish.committed")
AFTER = ("show", "ring.task", "advance.returned", "advance.finished")


@pytest.mark.parametrize("effect", EFFECTS)
def test_killed_around_a_message_a_step_becomes_what_the_table_says(
    redis_url: str, effect: str
) -> None:
    settings = {"redis_url": redis_url}
    with CrashTest("tests.crash.row:row", {"effect": effect}, settings=settings) as test:
        for point in (*AROUND, *AFTER):
            trial = test.die_at(point, 1 if point.startswith("advance") else 2)
            assert trial is not None, point
            assert trial.broken == (), point
            if point in AROUND:
                assert outcome(the_step(trial, 2)) == expected(point, effect), point
            else:
                assert {outcome(step) for step in trial.steps} <= {RUN, STAYS}, point


def test_a_worker_paused_with_its_message_changes_nothing_when_it_goes_on(redis_url: str) -> None:
    settings = {"redis_url": redis_url}
    with CrashTest("tests.crash.row:row", {"effect": "side effect"}, settings=settings) as test:
        trial = test.be_paused_at("call.returned", 2)
    assert trial is not None
    assert trial.broken == ()
    assert (the_step(trial, 2).ended, the_step(trial, 2).late) == ("uncertain", 1)
