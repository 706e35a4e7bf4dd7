"""The rules of a crash, on what was seen before and after: each broken one is said in words."""

from dataclasses import replace
from typing import Any

import pytest

from keptstep.models.artifacts import Effect
from keptstep.models.states import StepStatus
from keptstep.testing.crash.records import (
    Boundary,
    Called,
    Kind,
    Report,
    Seen,
    StepSeen,
    StepTrial,
    Subject,
    Trial,
)
from keptstep.testing.crash.rules import judge_home, judge_steps
from keptstep.testing.crash.syscalls import Aim, Attempt, aims

S, E = StepStatus, Effect


def seen(status: StepStatus, effect: Effect = E.NONE, **more: Any) -> StepSeen:
    """Return a step as it is seen when all is well with it."""
    done = status is S.DONE
    begun = status in (S.RUNNING, S.DONE, S.UNCERTAIN)
    step = StepSeen(
        name="s",
        effect=effect,
        artifact_class=3,
        status=status,
        attempts=int(begun),
        max_attempts=3,
        starts=int(begun),
        results=int(done),
        shown=int(done),
        verdicts=0,
        again=0,
        late=0,
        marked=done,
        sha="ab" if done else None,
        intact=done,
    )
    return replace(step, **more)


KEPT: dict[str, Any] = {"marked": True, "sha": "ab", "intact": True}
DONE = seen(S.DONE)


def judged(
    before: StepSeen | None, after: StepSeen | None, early: int = 0, late: int = 0
) -> tuple[str, ...]:
    """Return what is wrong, with that many calls before the death and after it."""
    steps = [{"s": step} if step else {} for step in (before, after)]
    calls = [Called("s", "key", n) for n in range(early + late)]
    (trial,) = judge_steps(Seen(steps=steps[0]), Seen(steps=steps[1]), calls, early)
    assert (trial.calls_before, trial.calls) == (early, early + late)
    return trial.violations


@pytest.mark.parametrize(
    ("before", "after", "early", "late"),
    [
        (None, DONE, 0, 1),
        (seen(S.READY), DONE, 0, 1),
        (seen(S.RUNNING), DONE, 1, 1),
        (seen(S.RUNNING, E.IDEMPOTENT), replace(DONE, effect=E.IDEMPOTENT), 1, 1),
        (seen(S.RUNNING, E.SIDE_EFFECT), seen(S.UNCERTAIN, E.SIDE_EFFECT), 1, 0),
        (seen(S.RUNNING, E.SIDE_EFFECT), seen(S.UNCERTAIN, E.SIDE_EFFECT), 0, 0),
        (seen(S.RUNNING, E.SIDE_EFFECT, **KEPT), replace(DONE, effect=E.SIDE_EFFECT), 1, 0),
        (seen(S.RUNNING, E.SIDE_EFFECT), seen(S.DONE, E.SIDE_EFFECT, verdicts=1, again=1), 1, 1),
        (seen(S.RUNNING, attempts=3), seen(S.FAILED, starts=3), 1, 0),
        (seen(S.UNCERTAIN, E.SIDE_EFFECT), seen(S.UNCERTAIN, E.SIDE_EFFECT), 1, 0),
        (DONE, DONE, 1, 0),
    ],
)
def test_what_the_promise_allows_is_not_objected_to(
    before: StepSeen | None, after: StepSeen, early: int, late: int
) -> None:
    assert judged(before, after, early, late) == ()


@pytest.mark.parametrize(
    ("before", "after", "early", "late", "told"),
    [
        (seen(S.READY), DONE, 1, 1, "before its start"),
        (seen(S.RUNNING, E.SIDE_EFFECT), seen(S.DONE, E.SIDE_EFFECT), 1, 1, "called 2 times"),
        (seen(S.RUNNING, E.SIDE_EFFECT), seen(S.DONE, E.SIDE_EFFECT), 0, 1, "not uncertain"),
        (seen(S.RUNNING, E.SIDE_EFFECT, **KEPT), seen(S.UNCERTAIN), 1, 0, "ended uncertain"),
        (seen(S.RUNNING, **KEPT), DONE, 1, 1, "kept and it was called again"),
        (seen(S.RUNNING, **KEPT), replace(DONE, sha="cd"), 1, 0, "another one took its place"),
        (DONE, DONE, 1, 1, "was done and was called again"),
        (DONE, replace(DONE, sha="cd"), 1, 0, "its outcome changed"),
        (seen(S.RUNNING), seen(S.DONE, intact=False), 1, 1, "its result is not kept"),
        (seen(S.RUNNING), seen(S.DONE, results=2), 1, 1, "2 results were recorded"),
        (seen(S.RUNNING), seen(S.DONE, results=0), 1, 1, "done with 0 results"),
        (seen(S.RUNNING), seen(S.UNCERTAIN), 1, 0, "ended uncertain, and should have been done"),
        (seen(S.RUNNING), seen(S.RUNNING), 1, 0, "ended running, and should have been done"),
        (seen(S.RUNNING, attempts=3), DONE, 1, 1, "ended done, and should have been failed"),
        (seen(S.READY), None, 0, 0, "is gone"),
    ],
)
def test_every_broken_rule_is_said(
    before: StepSeen, after: StepSeen | None, early: int, late: int, told: str
) -> None:
    assert any(told in one for one in judged(before, after, early, late))


def test_another_key_for_another_attempt_is_said() -> None:
    calls = [Called("s", "one", 1), Called("s", "two", 2)]
    home = Seen(steps={"s": seen(S.RUNNING, E.IDEMPOTENT)})
    (trial,) = judge_steps(home, Seen(steps={"s": seen(S.DONE, E.IDEMPOTENT)}), calls, 1)
    assert trial.violations == ("its calls were offered different keys",)


def test_a_call_of_a_step_that_is_not_on_record_at_all_is_said() -> None:
    (trial,) = judge_steps(Seen(), Seen(), [Called("s", "key", 1)], 1)
    assert trial.violations == ("called before its start was on record",)
    assert trial.ended == "lost"


def test_what_was_told_and_is_not_on_record_is_said() -> None:
    running, done = Seen(steps={"s": seen(S.RUNNING)}), Seen(steps={"s": DONE})
    assert judge_home(running, done, shown=1) == ("an outcome was told before it was on record",)
    assert judge_home(done, done, shown=1) == ()


def test_contradictions_are_said_with_their_moment() -> None:
    wrong = Seen(contradictions=("an owner means running",))
    assert judge_home(wrong, wrong, 0) == (
        "at the death: an owner means running",
        "after the recovery: an owner means running",
    )


def test_a_report_without_any_death_proves_nothing() -> None:
    subject = Subject("m:t", "tool", "t")
    assert not Report(subject, (), (), False).held
    fine = Trial(Boundary(Kind.POINT, "show", 1), (), "done")
    assert Report(subject, (fine,), (), False).held
    bad = replace(fine, violations=("lost",))
    report = Report(subject, (fine, bad), (), False)
    assert (report.held, report.broken) == (False, (bad,))


def test_how_the_steps_of_a_trial_ended_is_summed_up() -> None:
    step = StepTrial("a", "none", "done", False, 1, 1, "done", True)
    trial = Trial(Boundary(Kind.POINT, "show", 1), (step,), "done")
    assert trial.ended == "done"
    both = replace(trial, steps=(step, step, replace(step, ended="uncertain")))
    assert (both.ended, both.calls) == ("2 done, 1 uncertain", 3)
    assert replace(trial, steps=(), task="waiting").ended == "waiting"


def found(name: str, nth: int, after: str = "show") -> Attempt:
    return Attempt(Aim(name, nth), Boundary(Kind.CALL, f"{name} of the log", nth, after))


def test_a_sample_of_calls_has_one_of_each_kind_after_each_point_first() -> None:
    every = [found("pwrite64", n) for n in range(1, 9)]
    every += [found("fdatasync", 1), found("fdatasync", 2, after="plan.before")]
    assert aims(every, 3) == [Aim("pwrite64", 1), Aim("fdatasync", 1), Aim("fdatasync", 2)]
    assert aims(every, 2) == [Aim("pwrite64", 1), Aim("fdatasync", 1)]
    assert len(aims(every, 6)) == 6
    assert set(aims(every, None)) == {attempt.aim for attempt in every}


def test_calls_that_one_aim_reaches_are_aimed_at_once() -> None:
    # Two threads both make a first write: whoever comes first is hit.
    assert aims([found("write", 1), found("write", 1, after="plan.before")], None) == [
        Aim("write", 1)
    ]
