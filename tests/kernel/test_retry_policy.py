"""Retry policies: tenacity's objects over an attempt count that survives crashes (D17)."""

from __future__ import annotations

import pytest
from tenacity import (
    retry_if_exception_message,
    retry_if_exception_type,
    retry_if_not_exception_type,
    stop_after_attempt,
    stop_after_delay,
    stop_any,
    stop_before_delay,
    wait_chain,
    wait_combine,
    wait_exponential,
    wait_exponential_jitter,
    wait_fixed,
    wait_incrementing,
    wait_none,
    wait_random,
)
from tenacity.wait import wait_base

from keptstep.workflows.retry import RetryPolicy

ERROR = ConnectionError("reset")


def waits(wait: wait_base, attempts: int = 5) -> list[float | None]:
    policy = RetryPolicy(attempts=attempts + 1, wait=wait)
    return [policy.wait_after(attempt, ERROR, age=0.0) for attempt in range(1, attempts + 1)]


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (wait_none(), [0, 0, 0, 0, 0]),
        (wait_fixed(2), [2, 2, 2, 2, 2]),
        (wait_incrementing(1, 2), [1, 3, 5, 7, 9]),
        (wait_exponential(multiplier=1), [1, 2, 4, 8, 16]),
        (wait_exponential(multiplier=2, max=10), [2, 4, 8, 10, 10]),
        (wait_exponential(multiplier=1, min=3), [3, 3, 4, 8, 16]),
        (wait_exponential_jitter(initial=1, max=5, jitter=0), [1, 2, 4, 5, 5]),
        (wait_chain(wait_fixed(1), wait_fixed(1), wait_fixed(9)), [1, 1, 9, 9, 9]),
        (wait_combine(wait_fixed(1), wait_exponential()), [2, 3, 5, 9, 17]),
    ],
    ids=[
        "none",
        "fixed",
        "incrementing",
        "exponential",
        "exponential up to 10",
        "exponential from 3",
        "exponential jitter",
        "chain",
        "combine",
    ],
)
def test_the_wait_follows_the_durable_attempt_number(
    wait: wait_base, expected: list[float]
) -> None:
    assert waits(wait) == expected


def test_the_answer_does_not_depend_on_earlier_questions() -> None:
    policy = RetryPolicy(attempts=10, wait=wait_exponential(multiplier=1))
    assert policy.wait_after(4, ERROR, 0.0) == 8
    assert policy.wait_after(1, ERROR, 0.0) == 1
    assert policy.wait_after(4, ERROR, 0.0) == 8


def test_a_random_wait_stays_within_its_bounds() -> None:
    answers = waits(wait_random(1, 2), attempts=50)
    assert all(answer is not None and 1 <= answer <= 2 for answer in answers)


def test_no_attempt_follows_the_last() -> None:
    policy = RetryPolicy(attempts=3, wait=wait_fixed(1))
    assert [policy.wait_after(n, ERROR, 0.0) for n in (1, 2, 3, 4)] == [1, 1, None, None]


def test_one_attempt_means_no_retry() -> None:
    assert RetryPolicy(attempts=1).wait_after(1, ERROR, 0.0) is None


@pytest.mark.parametrize("attempts", [0, -1])
def test_a_policy_without_an_attempt_is_refused(attempts: int) -> None:
    with pytest.raises(ValueError, match="at least 1 attempt"):
        RetryPolicy(attempts=attempts)


def test_the_stop_sees_the_seconds_since_the_first_attempt() -> None:
    policy = RetryPolicy(attempts=99, wait=wait_fixed(1), stop=stop_after_delay(60))
    ages = [0.0, 59.0, 60.0, 61.0, 1e6]
    assert [policy.wait_after(1, ERROR, age) for age in ages] == [1, 1, None, None, None]


def test_a_stop_before_a_delay_counts_the_wait_to_come() -> None:
    policy = RetryPolicy(attempts=99, wait=wait_fixed(10), stop=stop_before_delay(60))
    assert [policy.wait_after(1, ERROR, age) for age in (0.0, 49.0, 50.0, 60.0)] == [
        10,
        10,
        None,
        None,
    ]


def test_the_stop_sees_the_durable_attempt_number() -> None:
    policy = RetryPolicy(attempts=99, wait=wait_fixed(1), stop=stop_after_attempt(2))
    assert [policy.wait_after(n, ERROR, 0.0) for n in (1, 2, 3)] == [1, None, None]


def test_stops_can_be_joined() -> None:
    stop = stop_any(stop_after_attempt(5), stop_after_delay(10))
    policy = RetryPolicy(attempts=99, wait=wait_fixed(1), stop=stop)
    assert policy.wait_after(4, ERROR, 9.0) == 1
    assert policy.wait_after(5, ERROR, 9.0) is None
    assert policy.wait_after(4, ERROR, 10.0) is None


def test_only_the_named_exceptions_are_tried_again() -> None:
    policy = RetryPolicy(wait=wait_fixed(1), retry=retry_if_exception_type(ConnectionError))
    assert policy.wait_after(1, ConnectionResetError("a kind of it"), 0.0) == 1
    assert policy.wait_after(1, ValueError("not it"), 0.0) is None


def test_the_other_questions_about_an_exception_work_too() -> None:
    unless = RetryPolicy(wait=wait_fixed(1), retry=retry_if_not_exception_type(ValueError))
    assert unless.wait_after(1, ValueError("no"), 0.0) is None
    assert unless.wait_after(1, ERROR, 0.0) == 1
    about = RetryPolicy(wait=wait_fixed(1), retry=retry_if_exception_message(match="reset"))
    assert about.wait_after(1, ERROR, 0.0) == 1
    assert about.wait_after(1, ConnectionError("other"), 0.0) is None


def test_by_default_three_attempts_wait_longer_each_time_and_five_minutes_at_most() -> None:
    policy = RetryPolicy()
    assert policy.attempts == 3
    first, second = policy.wait_after(1, ERROR, 0.0), policy.wait_after(2, ERROR, 0.0)
    assert first is not None
    assert second is not None
    assert 1 <= first <= 2 <= second <= 3
    assert policy.wait_after(3, ERROR, 0.0) is None
    late = RetryPolicy(attempts=10_000).wait_after(9_999, ERROR, 0.0)
    assert late == 300


def test_by_default_every_error_is_tried_again_but_not_an_order_to_stop() -> None:
    assert RetryPolicy().wait_after(1, ValueError("a"), 0.0) is not None
    assert RetryPolicy().wait_after(1, KeyboardInterrupt(), 0.0) is None
