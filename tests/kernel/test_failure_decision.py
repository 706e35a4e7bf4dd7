"""``failure_decision``: what follows an attempt that left no result (D17, D42, D43)."""

from __future__ import annotations

from itertools import product

import pytest

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Block, Fail, Retry
from keptstep.models.states import StepStatus
from keptstep.testing.builders import a_step
from keptstep.workflows.kernel import CallEnd, failure_decision

CAP = 3
WAITS = (None, -1.0, 0.0, 5.0)
FINAL = {CallEnd.REFUSED, CallEnd.PERMANENT, CallEnd.UNKEEPABLE, CallEnd.NO_INPUT}
SAYS_NOTHING_HAPPENED = {CallEnd.NOT_SENT, CallEnd.REFUSED, CallEnd.NO_INPUT}


def decide(
    effect: Effect, end: CallEnd, attempts: int, wait: float | None
) -> Retry | Fail | Block:
    step = a_step(StepStatus.RUNNING, effect=effect, attempts=attempts, max_attempts=CAP)
    return failure_decision(step, end, wait)


def expected(effect: Effect, end: CallEnd, attempts: int, wait: float | None) -> type:
    if effect is Effect.SIDE_EFFECT and end not in SAYS_NOTHING_HAPPENED:
        return Block
    if end in FINAL or attempts == CAP or wait is None:
        return Fail
    return Retry


@pytest.mark.parametrize("effect", Effect)
@pytest.mark.parametrize("end", CallEnd)
def test_every_end_of_a_call_is_answered(effect: Effect, end: CallEnd) -> None:
    for attempts, wait in product((1, CAP - 1, CAP), WAITS):
        answer = decide(effect, end, attempts, wait)
        assert type(answer) is expected(effect, end, attempts, wait), (attempts, wait)
        assert answer.reason


def test_a_side_effect_whose_outcome_is_unknown_is_never_tried_again() -> None:
    unknown = set(CallEnd) - SAYS_NOTHING_HAPPENED
    for end, attempts, wait in product(unknown, (1, CAP), WAITS):
        assert isinstance(decide(Effect.SIDE_EFFECT, end, attempts, wait), Block)


def test_a_side_effect_that_was_surely_not_sent_may_be_tried_again() -> None:
    assert isinstance(decide(Effect.SIDE_EFFECT, CallEnd.NOT_SENT, 1, 2.0), Retry)


def test_the_cap_holds_whatever_the_policy_says() -> None:
    for effect, end in product(Effect, CallEnd):
        assert not isinstance(decide(effect, end, CAP, 0.0), Retry)


def test_the_policys_wait_becomes_the_delay_and_is_never_negative() -> None:
    assert decide(Effect.NONE, CallEnd.RAISED, 1, 5.0) == Retry(
        "the call raised in attempt 1", delay=5.0
    )
    answer = decide(Effect.NONE, CallEnd.RAISED, 1, -5.0)
    assert isinstance(answer, Retry)
    assert answer.delay == 0.0
