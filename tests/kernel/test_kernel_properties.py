"""What holds for the kernel's answers whatever the facts are."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Block, Fail, LeaveAlone, Run
from keptstep.models.ids import ArtifactId, StepId
from keptstep.models.records import Step
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.testing.builders import a_step, identity
from keptstep.workflows.kernel import (
    CallEnd,
    failure_decision,
    next_unfinished_step,
    resume_decision,
    runnable_steps,
)

times = st.floats(0, 2e9)
caps = st.integers(1, 100)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    cap = draw(caps)
    status = draw(st.sampled_from(StepStatus))
    return a_step(
        status,
        effect=draw(st.sampled_from(Effect)),
        attempts=draw(st.integers(0, cap)),
        max_attempts=cap,
        lease_until=draw(times) if status is StepStatus.RUNNING else None,
        due_at=draw(times),
        artifact_id=draw(st.sampled_from([None, ArtifactId(identity("artifact", 1))])),
    )


@given(steps(), times, st.booleans(), st.booleans())
def test_the_answer_depends_on_the_arguments_alone(
    step: Step, now: float, dead: bool, intact: bool
) -> None:
    answers = [
        resume_decision(step, now, holder_dead=dead, payload_intact=intact) for _ in range(2)
    ]
    assert answers[0] == answers[1]


@given(steps(), times, st.booleans(), st.booleans())
def test_a_finished_step_is_always_left_alone(
    step: Step, now: float, dead: bool, intact: bool
) -> None:
    answer = resume_decision(step, now, holder_dead=dead, payload_intact=intact)
    if step.status in STEP_FINISHED:
        assert isinstance(answer, LeaveAlone)


@given(steps(), times, st.booleans(), st.booleans())
def test_a_step_at_its_cap_is_never_called_again(
    step: Step, now: float, dead: bool, intact: bool
) -> None:
    step = replace(step, attempts=step.max_attempts)
    answer = resume_decision(step, now, holder_dead=dead, payload_intact=intact)
    assert not isinstance(answer, Run) or answer.roll_forward


@given(steps(), times, st.booleans(), st.booleans())
def test_a_side_effect_that_was_started_is_never_called_again(
    step: Step, now: float, dead: bool, intact: bool
) -> None:
    started = step.status in {StepStatus.RUNNING, StepStatus.UNCERTAIN}
    answer = resume_decision(step, now, holder_dead=dead, payload_intact=intact)
    if step.effect is Effect.SIDE_EFFECT and started:
        assert not isinstance(answer, Fail)
        assert not isinstance(answer, Run) or answer.roll_forward


@given(steps(), times, st.booleans(), st.booleans())
def test_only_a_marked_intact_payload_whose_holder_is_gone_is_rolled_forward(
    step: Step, now: float, dead: bool, intact: bool
) -> None:
    answer = resume_decision(step, now, holder_dead=dead, payload_intact=intact)
    gone = dead or (step.lease_until is not None and step.lease_until <= now)
    kept = intact and step.artifact_id is not None
    forward = isinstance(answer, Run) and answer.roll_forward
    assert forward == (step.status is StepStatus.RUNNING and gone and kept)


@given(steps(), times)
def test_a_live_lease_is_left_alone(step: Step, now: float) -> None:
    step = replace(step, status=StepStatus.RUNNING, lease_until=now + 1)
    assert isinstance(resume_decision(step, now), LeaveAlone)


@given(steps(), st.sampled_from(CallEnd), st.none() | st.floats(-10, 1e6))
def test_a_failed_side_effect_is_blocked_unless_surely_nothing_happened(
    step: Step, end: CallEnd, wait: float | None
) -> None:
    answer = failure_decision(step, end, wait)
    assert answer == failure_decision(step, end, wait)
    unknown = end not in {CallEnd.NOT_SENT, CallEnd.REFUSED, CallEnd.NO_INPUT}
    assert isinstance(answer, Block) == (step.effect is Effect.SIDE_EFFECT and unknown)


@st.composite
def plans(draw: st.DrawFn) -> list[Step]:
    """Draw a task's steps in any order; each needs some of those before it."""
    made: list[Step] = []
    for position in range(1, draw(st.integers(0, 8)) + 1):
        needs = [step.id for step in made if draw(st.booleans())]
        step = replace(
            draw(steps()),
            id=StepId(identity("step", position)),
            position=position,
            needs=tuple(needs),
        )
        made.append(step)
    return list(draw(st.permutations(made)))


@given(plans())
def test_the_next_step_is_the_first_unfinished_by_position(plan: list[Step]) -> None:
    found = next_unfinished_step(plan)
    unfinished = [step for step in plan if step.status not in STEP_FINISHED]
    assert (found is None) == (not unfinished)
    if found is not None:
        assert found.position == min(step.position for step in unfinished)


@given(plans(), times)
def test_what_may_run_is_in_order_decided_to_run_and_has_its_needs_done(
    plan: list[Step], now: float
) -> None:
    found = runnable_steps(plan, now)
    assert [step.position for step in found] == sorted(step.position for step in found)
    done = {step.id for step in plan if step.status is StepStatus.DONE}
    for step in plan:
        may_run = isinstance(resume_decision(step, now), Run) and set(step.needs) <= done
        assert (step in found) == may_run
