"""The page of guarantees says what the crash tests check: the same windows, the same outcomes."""

import re
from pathlib import Path

from keptstep.models.artifacts import Effect
from keptstep.models.points import POINTS
from keptstep.workflows.kernel import CallEnd
from tests.crash.row import EFFECTS
from tests.crash.test_windows import WINDOWS

PAGE = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text()


def section(title: str) -> str:
    """Return the text below a heading."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of the first table in a text, its heading left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def table_of_windows() -> list[list[str]]:
    return [row for row in rows(section("The windows")) if len(row) == 7]


def test_every_point_stands_in_the_table_of_windows_once() -> None:
    named = [point for row in table_of_windows() for point in re.findall(r"`([\w.]+)`", row[2])]
    assert sorted(named) == sorted(POINTS)


def test_the_table_says_of_each_effect_what_the_crash_tests_expect() -> None:
    told = {
        point: dict(zip(EFFECTS, row[4:], strict=True))
        for row in table_of_windows()
        for point in re.findall(r"`([\w.]+)`", row[2])
    }
    expected = {point: outcome for points, outcome in WINDOWS.values() for point in points}
    assert told == expected


def test_every_outcome_is_explained() -> None:
    outcomes = {cell for row in table_of_windows() for cell in row[4:]} - {"no such window"}
    assert {one for one in outcomes if f"- **{one}**:" not in PAGE} == set()


def test_every_window_is_told_of() -> None:
    assert {f"W{n}" for n in range(18)} == set(re.findall(r"\bW\d+\b", section("The windows")))


def test_every_effect_and_every_end_of_a_call_is_told_of() -> None:
    assert all(f'"{effect}"' in section("What decides") for effect in Effect)
    assert len(rows(section("When a call ends badly"))) == len(CallEnd)
