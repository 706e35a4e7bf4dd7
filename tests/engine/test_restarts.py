"""When a worker that died is started again, and what is said about its end."""

from __future__ import annotations

import signal

import pytest

from keptstep.workers.restarts import LONGEST, STEADY, Restarts, ending


def test_the_wait_doubles_up_to_a_minute() -> None:
    restarts = Restarts()
    waits = [restarts.died(0.5) for _ in range(9)]
    assert waits == [1, 2, 4, 8, 16, 32, LONGEST, LONGEST, LONGEST]


def test_a_place_where_workers_always_died_waits_no_longer_for_it() -> None:
    restarts = Restarts()
    assert [restarts.died(0.0) for _ in range(5000)][-1] == LONGEST


def test_a_minute_of_life_begins_the_waits_again() -> None:
    restarts = Restarts()
    assert [restarts.died(lived) for lived in (0.0, STEADY - 1, STEADY, 0.0)] == [1, 2, 1, 2]
    assert (restarts.in_a_row, restarts.all) == (2, 4)


@pytest.mark.parametrize(
    ("returncode", "said"),
    [
        (0, "ended as if it had been asked to stop"),
        (9, "ended with exit code 9"),
        (-signal.SIGSEGV, "was killed by SIGSEGV"),
        (-signal.SIGKILL, "was killed by SIGKILL (by hand, or by the system for want of memory)"),
        (-63, "was killed by signal 63"),
    ],
)
def test_an_end_is_told_in_words(returncode: int, said: str) -> None:
    assert ending(returncode) == said
