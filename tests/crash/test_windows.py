"""The table of crash windows: where a process may die, and what then becomes of a step.

``docs/guarantees.md`` shows the same table to users. The rules that hold in every window (at most
one call of a side effect, one recorded result, one key, nothing told before it is on record) are
the harness's own; here stands what each window has to come to.
"""

from collections.abc import Iterator

import pytest

from keptstep.models.points import POINTS
from keptstep.testing.crash import CrashTest, StepTrial, Trial
from tests.crash.row import CLASSES, EFFECTS, name_of

pytestmark = pytest.mark.crash

RUN = "runs"  # it had not begun: called once, done
AGAIN = "called again"  # done; each call with the same key, one result
ASKED = "uncertain"  # not called again: a person is asked
TAKEN_UP = "rolls forward"  # its result was kept: done without a call
STAYS = "stays done"  # nothing happens to it
NEVER = "no such window"

#: Window -> its points, then what becomes of a step by its effect. W3, between the lease and the
#: record of the start, does not exist: they are one transaction. W15 is a deletion's, W16 and W17
#: are of calls outside of steps.
WINDOWS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "W0 on record, nobody rung": (
        (
            "submit.before",
            "submit.committed",
            "advance.claimed",
            "advance.entered",
            "plan.before",
            "plan.committed",
            "ring.step",
        ),
        dict.fromkeys(EFFECTS, RUN),
    ),
    "W1, W2 rung, not claimed": (("claim.before",), dict.fromkeys(EFFECTS, RUN)),
    "W4 start on record, not called": (
        ("claim.committed", "call.before", "call.entered"),
        {"none": AGAIN, "idempotent": AGAIN, "side effect": ASKED},
    ),
    "W5, W6 called, answer in memory": (
        ("call.acted", "call.returned"),
        {"none": AGAIN, "idempotent": AGAIN, "side effect": ASKED},
    ),
    "W7 answer in a temporary file": (
        ("keep.temporary",),
        {"none": AGAIN, "idempotent": AGAIN, "side effect": ASKED},
    ),
    "W8 file kept, not on record": (
        ("keep.renamed", "keep.kept"),
        {"none": AGAIN, "idempotent": AGAIN, "side effect": ASKED},
    ),
    # A read has no record of its file alone: it may simply be called again.
    "W9 file on record, step not done": (
        ("mark.committed",),
        {"none": NEVER, "idempotent": TAKEN_UP, "side effect": TAKEN_UP},
    ),
    "W9 the same, or the end of W8": (
        ("finish.before",),
        {"none": AGAIN, "idempotent": TAKEN_UP, "side effect": TAKEN_UP},
    ),
    "W10 done, not told": (("finish.committed", "show"), dict.fromkeys(EFFECTS, STAYS)),
    "W11, W12 told, next not rung": (("ring.task",), dict.fromkeys(EFFECTS, STAYS)),
    "W13 last step done, task not": (
        ("advance.returned", "advance.finished"),
        dict.fromkeys(EFFECTS, STAYS),
    ),
}
#: Points that each step of a run reaches exactly once, in the order of the steps.
OF_STEPS = (
    "claim.committed",
    "call.before",
    "call.entered",
    "call.acted",
    "call.returned",
    "keep.temporary",
    "keep.renamed",
    "keep.kept",
    "mark.committed",
    "finish.before",
    "finish.committed",
    "show",
)


def expected(point: str, effect: str) -> str:
    """Return what the table says."""
    (outcome,) = (told[effect] for points, told in WINDOWS.values() if point in points)
    return outcome


def outcome(step: StepTrial) -> str:
    """Say in the words of the table what became of a step."""
    later = step.calls - step.calls_before
    match step.found, step.ended, later:
        case ("done", "done", 0):
            return STAYS
        case ("running", "done", 0):
            return TAKEN_UP
        case ("running", "done", 1):
            return AGAIN
        case ("running", "uncertain", 0):
            return ASKED
        case ("not planned" | "ready", "done", 1):
            return RUN
        case _:
            return f"found {step.found}, called {later} times more, ended {step.ended}"


def the_step(trial: Trial, artifact_class: int) -> StepTrial:
    (step,) = (step for step in trial.steps if step.name == name_of(artifact_class))
    return step


@pytest.fixture(scope="module", params=EFFECTS)
def effect(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def crashes(effect: str) -> Iterator[CrashTest]:
    with CrashTest("tests.crash.row:row", {"effect": effect}) as test:
        yield test


def test_the_table_has_every_point_once() -> None:
    assert sorted(point for points, _ in WINDOWS.values() for point in points) == sorted(POINTS)


@pytest.mark.parametrize("artifact_class", CLASSES)
@pytest.mark.parametrize("point", OF_STEPS)
def test_a_step_whose_process_dies_becomes_what_the_table_says(
    crashes: CrashTest, effect: str, point: str, artifact_class: int
) -> None:
    trial = crashes.die_at(point, artifact_class)
    if expected(point, effect) == NEVER:
        assert trial is None
        return
    assert trial is not None, "the point was reached"
    assert trial.broken == ()
    assert outcome(the_step(trial, artifact_class)) == expected(point, effect)
    for earlier in range(1, artifact_class):
        assert outcome(the_step(trial, earlier)) == STAYS


@pytest.mark.parametrize("point", [point for point in POINTS if point not in OF_STEPS])
def test_a_task_whose_process_dies_around_its_steps_goes_on(
    crashes: CrashTest, effect: str, point: str
) -> None:
    trial = crashes.die_at(point)
    assert trial is not None, "the point was reached"
    assert trial.broken == ()
    assert trial.task == "done"
    outcomes = [outcome(step) for step in trial.steps]
    assert outcomes[0] == expected(point, effect)
    assert set(outcomes[1:]) <= {RUN, STAYS}
    assert trial.calls == len(CLASSES)


@pytest.mark.parametrize("point", ["call.returned", "keep.kept", "finish.before"])
def test_a_worker_paused_past_its_lease_changes_nothing_when_it_goes_on(
    crashes: CrashTest, effect: str, point: str
) -> None:
    """W14: it finds itself fenced out at the record of its file, or at the finish."""
    trial = crashes.be_paused_at(point, 2)
    assert trial is not None, "the point was reached"
    assert trial.broken == ()
    assert outcome(the_step(trial, 2)) == expected(point, effect)
    assert the_step(trial, 2).late == 1, "its result is evidence"
