"""Retry policies: tenacity's objects, asked about an attempt count that survives crashes (D17)."""

from __future__ import annotations

from dataclasses import dataclass, field

from tenacity import (
    Future,
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_never,
    wait_exponential_jitter,
)
from tenacity.retry import retry_base
from tenacity.stop import stop_base
from tenacity.wait import wait_base


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a failed attempt is followed by another.

    ``attempts`` is the cap over all attempts, crashes included (D16). The other three are
    tenacity objects: they see the attempt's number, the exception and the seconds since the
    first attempt. tenacity itself never sleeps here: its wait becomes the step's ``due_at``.
    """

    attempts: int = 3
    wait: wait_base = field(default_factory=lambda: wait_exponential_jitter(1, 300, jitter=1))
    retry: retry_base = field(default_factory=lambda: retry_if_exception_type(Exception))
    stop: stop_base = stop_never

    def __post_init__(self) -> None:
        """Refuse a cap that would never run the step."""
        if self.attempts < 1:
            raise ValueError(f"a retry policy needs at least 1 attempt, not {self.attempts}")

    def wait_after(self, attempt: int, error: BaseException, age: float) -> float | None:
        """Return the seconds to wait after ``attempt`` (from 1), or ``None`` to give up."""
        state = RetryCallState(Retrying(), fn=None, args=(), kwargs={})
        state.attempt_number = attempt
        state.outcome = Future.construct(attempt, error, has_exception=True)
        # From 0, so that the age is what the policy sees, to the last bit.
        state.start_time, state.outcome_timestamp = 0.0, age
        if attempt >= self.attempts or not self.retry(state):
            return None
        # A stop may ask how long the wait would be.
        state.upcoming_sleep = float(self.wait(state))
        return None if self.stop(state) else state.upcoming_sleep
