"""The clock of the tests moves when told to, and only then."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from keptstep.testing.clock import FakeClock
from keptstep.workflows.ports import Clock


def test_time_stands_still_until_it_is_moved() -> None:
    clock: Clock = FakeClock(100.0)
    assert [clock.now(), clock.now()] == [100.0, 100.0]


def test_time_is_moved_forward_and_set_back_by_seconds() -> None:
    clock = FakeClock(100.0)
    assert clock.advance(2.5) == 102.5
    assert clock.set_back(60) == clock.now() == 42.5


def test_a_negative_number_of_seconds_is_refused_both_ways() -> None:
    clock = FakeClock(100.0)
    with pytest.raises(ValueError, match="set_back"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="not -1"):
        clock.set_back(-1)
    assert clock.now() == 100.0


def test_no_move_is_lost_between_threads() -> None:
    clock = FakeClock(0.0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [clock.advance(1) for _ in range(500)], range(8)))
    assert clock.now() == 4000
