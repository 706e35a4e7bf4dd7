"""Times, spans and sizes in words."""

import pytest

from keptstep.ops.words import clock, distance, iso, plural, seconds, size, span


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (-1.0, "0 ms"),
        (0.0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (1.0, "1 s"),
        (1.26, "1.3 s"),
        (12.4, "12 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (60.0, "1 min"),
        (61.0, "1 min 1 s"),
        (3599.0, "59 min 59 s"),
        (3600.0, "1 h"),
        (3661.0, "1 h 1 min"),
        (86_399.0, "23 h 59 min"),
        (86_400.0, "1 d"),
        (200_000.0, "2 d 7 h"),
    ],
)
def test_a_span_has_at_most_two_units(length: float, said: str) -> None:
    assert span(length) == said


def test_a_growing_length_has_whole_seconds() -> None:
    assert [seconds(0.4), seconds(1.4), seconds(75.2)] == ["0 s", "1 s", "1 min 15 s"]


def test_a_moment_is_told_from_now() -> None:
    assert distance(100.0, 88.0) == "in 12 s"
    assert distance(88.0, 100.0) == "12 s ago"


def test_a_time_for_programs_is_utc() -> None:
    assert iso(0.0) == "1970-01-01T00:00:00.000Z"
    assert iso(1_764_543_481.5) == "2025-11-30T22:58:01.500Z"


def test_a_clock_shows_the_date_only_when_it_is_another_day() -> None:
    assert len(clock(1_764_500_000.0, 1_764_500_001.0)) == len("22:58:01")
    assert len(clock(1_764_500_000.0, 1_764_900_000.0)) == len("2025-11-30 22:58:01")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (5600, "5.6 kB"),
        (999_949, "999.9 kB"),
        (999_960, "1.0 MB"),
        (1 << 30, "1.1 GB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_a_size_has_one_unit(count: int, said: str) -> None:
    assert size(count) == said


def test_one_is_no_plural() -> None:
    assert [plural(1, "step"), plural(2, "step"), plural(0, "step")] == [
        "1 step",
        "2 steps",
        "0 steps",
    ]
