"""``keptstep crashtest``: a table for people, a document for programs, 1 for a broken promise."""

from pathlib import Path
from typing import Any

import pytest

from keptstep.models.points import POINTS
from keptstep.ops.crash_table import about, lines_of, remarks
from keptstep.testing.crash import Boundary, Kind, Report, StepTrial, Subject, Trial
from tests.ops.conftest import Command

pytestmark = pytest.mark.crash

READ = "tests.crash.row:row.none.2"
ACT = "tests.crash.row:row.side-effect.3"
GIVEN = ("--input", '{"source": "begun"}')


def trial(boundary: Boundary, ended: str = "done", calls: int = 1, **more: Any) -> Trial:
    step = StepTrial("call", "none", "running", True, 1, calls, ended, True)
    return Trial(boundary, (step,), ended, **more)


def point(name: str, nth: int = 1) -> Boundary:
    return Boundary(Kind.POINT, name, nth)


def in_call(name: str, after: str, nth: int = 1) -> Boundary:
    return Boundary(Kind.CALL, name, nth, after)


def report(*trials: Trial, **subject: Any) -> Report:
    return Report(Subject("my:tool", "tool", "tool", **subject), trials, (), traced=True)


def texts(lines: Any) -> list[str]:
    return [str(line) for line in lines]


def test_system_calls_stand_below_the_point_they_come_after() -> None:
    shown = report(
        trial(point("show")),
        trial(point("claim.committed"), "uncertain", 0),
        trial(in_call("fsync of a folder", "claim.committed"), "uncertain"),
        trial(in_call("mkdir of the home", "")),
    )
    assert texts(lines_of(shown)) == [
        "DIED AT              CALLS  ENDED AS   VERDICT",
        "  mkdir of the home      1  done       ok",
        "claim.committed          0  uncertain  ok, a person is asked",
        "  fsync of a folder      1  uncertain  ok, a person is asked",
        "show                     1  done       ok",
    ]


def test_deaths_that_came_to_the_same_share_a_row() -> None:
    shown = report(*(trial(in_call("fsync of a folder", "show", nth)) for nth in range(1, 8)))
    assert texts(lines_of(shown))[1:] == ["  fsync of a folder (7)      1  done      ok"]


def test_a_broken_rule_is_said_in_its_row_and_at_the_end() -> None:
    bad = trial(point("show"), violations=("an outcome was told\x1b before",))
    shown = report(bad, trial(point("ring.task")))
    assert "BROKEN: an outcome was told\\x1b before" in texts(lines_of(shown))[1]
    assert texts(remarks(shown)) == ["1 of 2 deaths broke a rule"]


def test_what_was_not_seen_is_said() -> None:
    fine = trial(point("show"))
    blind = texts(remarks(report(fine, effect="idempotent", takes_key=False)))[-1]
    keyed = texts(remarks(report(fine, effect="idempotent", takes_key=True)))[-1]
    assert "gives its key to nobody" in blind
    assert "whether the provider honours the key" in keyed
    untraced = Report(Subject("m:t", "tool", "t"), (fine,), (), False, "strace is not installed")
    assert texts(remarks(untraced))[-1] == "not seen: system calls, since strace is not installed"


def test_the_heading_says_what_was_tested_and_how() -> None:
    shown = report(trial(point("show")), trial(in_call("write", "show")), effect="none")
    assert list(about(shown)) == [
        "my:tool, a tool with effect 'none'",
        "killed 1 time at named points, 1 in system calls",
    ]


def test_a_side_effect_is_not_called_without_a_yes(process: Command) -> None:
    ran = process("crashtest", ACT, *GIVEN)
    assert (ran.code, ran.out) == (2, "")
    assert "declared 'side effect'" in ran.err
    assert "add --yes" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--input", "[1]"), "--input is a JSON object"),
        (("--input", "{"), "--input is a JSON object"),
        ((*GIVEN, "--calls", "some"), "a number or all, not 'some'"),
        (("--input", '{"other": 1}'), "has no parameter other"),
    ],
)
def test_what_cannot_be_taken_is_refused(
    inside: Command, words: tuple[str, ...], told: str
) -> None:
    ran = inside("crashtest", READ, *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_read_is_tested_without_a_yes_and_without_strace(process: Command, home: Path) -> None:
    ran = process("crashtest", READ, *GIVEN, PATH="", COLUMNS="80")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == f"{READ}, a tool with effect 'none'"
    assert {line.split()[0] for line in lines[4:] if line} >= set(POINTS) - {"mark.committed"}
    assert max(map(len, lines)) <= 80
    assert "and every rule held" in ran.out
    assert "strace is not installed" in ran.out
    assert not home.exists(), "the user's own home is left alone"


def test_a_broken_promise_ends_with_1_and_says_which(process: Command) -> None:
    words = ("crashtest", ACT, *GIVEN, "--yes", "--points-only", "--json")
    ran = process(*words, CRASH_MUTANT="uncertain-runs-again")
    assert ran.code == 1, ran.err
    assert not ran.document["held"]
    broken = {trial["boundary"]["name"] for trial in ran.document["trials"] if trial["broken"]}
    assert "call.acted" in broken
    assert "finish.committed" not in broken
    assert ran.document["checked"]
