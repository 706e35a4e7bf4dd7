"""The crash test as a tool: what it takes, what it refuses, what it leaves behind."""

import json
import os
import time
from pathlib import Path

import pytest

from keptstep.models.errors import BadInput
from keptstep.testing.crash import CrashTest, DidNotEnd, Kind, Trial, crash_test

pytestmark = pytest.mark.crash


@pytest.mark.parametrize(
    ("target", "given", "told"),
    [
        ("tests.crash.odd", {}, "write MODULE:TOOL"),
        ("no.such.module:act", {}, "there is no module no.such.module"),
        ("tests.crash.odd:nothing", {}, "is no tool and no workflow"),
        ("tests.crash.odd:not_a_tool", {}, "is no tool and no workflow"),
        ("tests.crash.odd:later", {"other": 1}, "has no parameter other"),
        ("tests.crash.odd:later", {}, "needs text"),
    ],
)
def test_what_cannot_be_tested_is_refused_with_the_reason(
    target: str, given: dict[str, object], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        CrashTest(target, given)


def test_a_tool_that_fails_without_a_crash_is_refused() -> None:
    with (
        CrashTest("tests.crash.odd:broken") as test,
        pytest.raises(BadInput, match=r"does not end well without any crash \(call is failed\)"),
    ):
        test.reaches()


def test_a_process_that_comes_to_no_end_is_killed_and_told_of() -> None:
    with (
        CrashTest("tests.crash.odd:endless", seconds=2.0) as test,
        pytest.raises(DidNotEnd, match="within 2 s"),
    ):
        test.die_at("show")


@pytest.mark.parametrize(
    ("tool", "told"), [("endless", "within 2 s"), ("exits", "a process ended with 9")]
)
def test_a_tool_that_ends_its_process_or_never_ends_is_refused(tool: str, told: str) -> None:
    with (
        CrashTest(f"tests.crash.odd:{tool}", seconds=2.0) as test,
        pytest.raises(BadInput, match=f"does not end well without any crash .*{told}"),
    ):
        test.reaches()


def test_a_tool_that_reads_its_input_takes_nothing_from_the_harness() -> None:
    with CrashTest("tests.crash.odd:asks") as test:
        trial = test.die_at("call.returned")
        assert trial is not None
        assert trial.ended == "done"


def test_a_coroutine_is_counted_and_what_it_prints_harms_nothing() -> None:
    with CrashTest("tests.crash.odd:later", {"text": "told"}) as test:
        trial = test.die_at("call.returned")
    assert trial is not None
    assert (trial.broken, trial.calls, trial.ended) == ((), 2, "done")


@pytest.mark.parametrize(
    ("point", "calls", "ended"), [("keep.temporary", 1, "uncertain"), ("show", 2, "done")]
)
def test_what_a_call_said_about_its_end_counts_once_it_is_on_record(
    point: str, calls: int, ended: str
) -> None:
    """It said that nothing was sent: its text is kept, and then the outcome recorded and told."""
    with CrashTest("tests.crash.odd:sent_at_last") as test:
        trial = test.die_at(point)
    assert trial is not None
    assert (trial.broken, trial.calls, trial.ended) == ((), calls, ended)


@pytest.mark.parametrize(
    ("target", "fresh"), [("tests.crash.odd:later", True), ("tests.crash.threaded:act", False)]
)
def test_with_new_interpreters_the_same_is_found(target: str, fresh: bool) -> None:
    given = {"text": "told"} if fresh else {}
    with CrashTest(target, given, fresh=fresh) as test:
        assert not test.subject.forks
        trial = test.die_at("call.returned")
    assert trial is not None
    assert trial.broken == ()
    assert trial.ended == ("done" if fresh else "uncertain")


def test_a_point_that_is_not_reached_is_no_trial() -> None:
    with CrashTest("tests.crash.odd:later", {"text": "told"}) as test:
        assert test.die_at("call.returned", 2) is None


def test_the_user_s_own_home_and_settings_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPTSTEP_HOME", str(tmp_path / "mine"))
    monkeypatch.setenv("KEPTSTEP_LEASE", "not a number")
    with CrashTest("tests.crash.odd:later", {"text": "told"}) as test:
        assert test.die_at("show") is not None
    assert not (tmp_path / "mine").exists()


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with CrashTest("tests.crash.odd:later", {"text": "told"}) as test:
        assert test.die_at("show") is not None
        assert list(tmp_path.iterdir()), "it works in a temporary folder"
    assert list(tmp_path.iterdir()) == []
    assert not _children()


def _children() -> list[str]:
    """Return the command lines of living processes of crash tests that this one started."""
    for _ in range(100):
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = status.read_text().rpartition(")")[2].split()
                command = (status.parent / "cmdline").read_text()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and "testing.crash.child" in command:
                found.append(command)
        if not found:
            return []
        time.sleep(0.02)
    return found


def test_a_whole_run_tells_of_each_trial_and_can_be_written_down() -> None:
    told: list[Trial] = []
    report = crash_test(
        "tests.crash.row:row.side-effect.3",
        {"source": "begun"},
        points=("claim.committed", "mark.committed", "show"),
        told=told.append,
    )
    assert report.held
    assert tuple(told) == report.trials
    assert [trial.ended for trial in report.trials] == ["uncertain", "done", "done"]
    assert {trial.boundary.kind for trial in report.trials} == {Kind.POINT}
    assert (report.traced, report.untraced) == (False, "not asked for")
    document = json.loads(json.dumps(report.document()))
    assert document["effect"] == "side effect"
    assert [trial["calls"] for trial in document["trials"]] == [0, 1, 1]


def test_where_nothing_can_be_traced_the_points_are_tried_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    report = crash_test("tests.crash.odd:later", {"text": "told"}, points=("show",), calls=5)
    assert report.held
    assert (report.traced, report.untraced) == (False, "strace is not installed")
