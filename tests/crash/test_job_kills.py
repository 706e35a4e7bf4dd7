"""kill -9 of a job whose steps run side by side: nothing finished is done again."""

import os
import random
from collections.abc import Iterator

import pytest

from keptstep.models.points import POINTS
from keptstep.testing.crash import CrashTest
from tests.crash.job import SOURCES

pytestmark = pytest.mark.crash

STEPS = {"find", *(f"{kind}:{n}" for kind in ("read", "note") for n in range(SOURCES))}
BEFORE_SEND = 2 * SOURCES + 1


@pytest.fixture(scope="module")
def reading() -> Iterator[CrashTest]:
    with CrashTest("tests.crash.job:job", {"act": False}) as test:
        yield test


@pytest.fixture(scope="module")
def acting() -> Iterator[CrashTest]:
    with CrashTest("tests.crash.job:job", {"act": True}) as test:
        yield test


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 3])
def test_killed_at_a_boundary_the_job_goes_on_and_repeats_no_finished_step(
    reading: CrashTest, point: str, nth: int
) -> None:
    trial = reading.die_at(point, nth)
    if nth == 1:
        assert trial is not None, "the point was reached"
    if trial is not None:
        assert trial.broken == ()
        assert trial.task == "done"
        assert {step.name for step in trial.steps} == STEPS


@pytest.mark.parametrize("point", [p for p in POINTS if p.startswith(("call", "keep", "mark"))])
def test_a_side_effect_after_other_steps_is_never_called_twice(
    acting: CrashTest, point: str
) -> None:
    # Of marks, which reads have none of, the side effect's is the sixth.
    nth = SOURCES + 1 if point.startswith("mark") else BEFORE_SEND + 1
    trial = acting.die_at(point, nth)
    assert trial is not None, "the point was reached"
    assert trial.broken == ()
    calls = {step.name: step.calls for step in trial.steps}
    assert calls["send"] <= 1


def test_killed_again_and_again_at_moments_of_chance_it_still_ends_once(
    reading: CrashTest,
) -> None:
    seed = int(os.environ.get("KEPTSTEP_TEST_SEED", "20261130"))
    chance = random.Random(seed)
    deaths = [(chance.choice(POINTS), chance.randint(1, 9)) for _ in range(16)]
    trials = reading.die_at_each(deaths)
    assert len(trials) > 1, "it died more than once"
    assert [told for trial in trials for told in trial.broken] == [], f"seed {seed}"
    assert trials[-1].task == "done"
