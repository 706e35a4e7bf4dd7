"""After a jump of the clock the living get a lease of time to renew before anybody takes."""

from keptstep.workers.sweeper import ClockJump


def test_time_that_passes_evenly_is_no_jump() -> None:
    jump = ClockJump(lease=15)
    assert not any(jump.lately(1000.0 + t, 5.0 + t) for t in range(0, 100, 2))


def test_a_jump_forward_or_back_holds_for_one_lease() -> None:
    for by in (3600.0, -3600.0, 6.0):
        jump = ClockJump(lease=15)
        assert not jump.lately(10_000.0, 0.0)
        assert jump.lately(10_001.0 + by, 1.0)
        assert jump.lately(10_015.0 + by, 15.0)
        assert not jump.lately(10_016.5 + by, 16.5)


def test_a_small_correction_is_no_jump() -> None:
    jump = ClockJump(lease=15)
    jump.lately(10_000.0, 0.0)
    assert not jump.lately(10_005.0, 1.0)
