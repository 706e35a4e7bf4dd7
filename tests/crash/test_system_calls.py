"""Killed as it enters a system call, at no point that the code names: the same rules hold."""

from collections.abc import Iterator

import pytest

from keptstep.testing.crash import CrashTest, crash_test, run_all
from tests.crash.row import EFFECTS
from tests.crash.test_sync_order import _strace  # noqa: F401 - skips where nothing is traced

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

GIVEN = {"source": "begun"}
#: What a step's own result passes on its way into the home.
KEEPING = {
    "write of a temporary file",
    "fsync of a temporary file",
    "rename of a payload",
    "fsync of a folder",
    "fdatasync of the log",
}


def target(effect: str) -> str:
    return f"tests.crash.row:row.{effect.replace(' ', '-')}.3"


@pytest.fixture(params=EFFECTS)
def test_of(request: pytest.FixtureRequest) -> Iterator[CrashTest]:
    with CrashTest(target(request.param), GIVEN) as test:
        yield test


def test_killed_in_a_sample_of_its_system_calls_every_rule_holds(test_of: CrashTest) -> None:
    every = test_of.calls()
    # Most are pages that SQLite writes into its log: a few of these stand for all.
    pages = [aim for aim in every if aim.name == "pwrite64"]
    sample = [aim for aim in every if aim.name not in ("pwrite64", "openat")] + pages[::12]
    trials = [trial for aim in sample if (trial := test_of.die_in(aim)) is not None]
    assert [told for trial in trials for told in trial.broken] == []
    assert {trial.boundary.name for trial in trials} >= KEEPING


@pytest.mark.chaos
def test_killed_in_each_of_its_system_calls_every_rule_holds(test_of: CrashTest) -> None:
    report = run_all(test_of, points=(), calls=None)
    assert report.broken == ()
    assert {trial.boundary.name for trial in report.trials} >= KEEPING
    assert len(report.trials) > 50


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_killed_in_each_system_call_of_a_job_every_rule_holds() -> None:
    report = crash_test("tests.crash.job:job", {"act": True}, points=(), calls=None)
    assert report.broken == ()
    assert len(report.trials) > 200


def test_a_result_committed_in_two_parts_is_noticed_at_a_sync_of_the_log() -> None:
    with CrashTest(target("none"), GIVEN, env={"CRASH_MUTANT": "done-in-two"}) as test:
        syncs = (aim for aim in test.calls() if aim.name == "fdatasync")
        trials = (test.die_in(aim) for aim in syncs)
        assert any(trial is not None and trial.broken for trial in trials)
