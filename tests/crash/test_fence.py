"""A worker that is paused past its lease: another goes on, and the late one changes nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keptstep import App, Settings
from keptstep.models.events import EventKind
from keptstep.models.records import Step
from keptstep.models.states import StepStatus

pytestmark = pytest.mark.crash
ROOT = Path(__file__).parents[2]


@contextmanager
def worker(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a worker that is ended with the block."""
    command = [sys.executable, "-m", "tests.crash.paused", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


def until(what: str, met: "object") -> None:
    """Wait until a condition is met."""
    for _ in range(1500):
        if met():  # type: ignore[operator]
            return
        time.sleep(0.02)
    raise AssertionError(f"it never came to this: {what}")


def take_over(tmp_path: Path, mutant: str) -> tuple[Step, Step, list[EventKind]]:
    """Pause a worker in its call until another took over; return the step before and after."""
    home, counts, gate = (str(tmp_path / name) for name in ("home", "counts", "gate"))
    with worker(home, counts, gate, mutant) as first:
        until("called", lambda: Path(counts).exists() and Path(counts).read_text().strip())
        first.send_signal(signal.SIGSTOP)
        with worker(home, counts, gate) as second:
            until("called twice", lambda: len(Path(counts).read_text().split()) == 2)
            Path(gate).touch()
            assert second.communicate(timeout=30)[0] == "DONE\n"
        app = App.open(settings=Settings.load(home, {}))
        try:
            task = app.store.tasks()[0]
            before = app.store.steps(task.id)[0]
            assert before.status is StepStatus.DONE
            first.send_signal(signal.SIGCONT)
            first.wait(timeout=30)
            after = app.store.steps(task.id)[0]
            return before, after, [event.kind for event in app.store.events(task.id)]
        finally:
            app.close()


def test_a_late_result_is_kept_as_evidence_and_never_replaces_the_record(tmp_path: Path) -> None:
    before, after, kinds = take_over(tmp_path, "")
    assert after == before
    assert kinds.count(EventKind.TOOL_RESULT_PERSISTED) == 1
    assert EventKind.LATE_RESULT in kinds


def test_without_the_fence_the_record_would_change(tmp_path: Path) -> None:
    before, after, _ = take_over(tmp_path, "no-fence")
    assert after.artifact_id != before.artifact_id


def test_without_the_claim_s_condition_two_workers_run_one_step(tmp_path: Path) -> None:
    home, counts, gate = (str(tmp_path / name) for name in ("home", "counts", "gate"))
    with worker(home, counts, gate, "no-claim") as first:
        until("called", lambda: Path(counts).exists() and Path(counts).read_text().strip())
        with worker(home, counts, gate, "no-claim") as second:
            until("called by both", lambda: len(set(Path(counts).read_text().split())) == 2)
            assert first.poll() is None
            assert second.poll() is None


def test_with_the_claim_a_second_worker_leaves_a_running_step_alone(tmp_path: Path) -> None:
    home, counts, gate = (str(tmp_path / name) for name in ("home", "counts", "gate"))
    with worker(home, counts, gate) as first:
        until("called", lambda: Path(counts).exists() and Path(counts).read_text().strip())
        with worker(home, counts, gate) as second:
            # The second one sweeps ten times a second and the lease is renewed three times in
            # one: it has had every chance when two leases have passed.
            time.sleep(2.0)
            Path(gate).touch()
            assert first.communicate(timeout=30)[0] == "DONE\n"
            assert second.communicate(timeout=30)[0] == "DONE\n"
    assert Path(counts).read_text().split() == [str(first.pid)]
    assert os.path.isdir(home)
