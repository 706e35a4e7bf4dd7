"""``kill -9`` of ``keptstep research`` at moments of chance, ``keptstep resume`` until it ends."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from keptstep import App, Settings
from keptstep.models.states import StepStatus, TaskStatus

pytestmark = [pytest.mark.crash, pytest.mark.timeout(400)]
ROOT = Path(__file__).parents[2]
KILLS, FILES = 50, 700
QUESTION = "How is the lamp of room 7 repaired?"


@dataclass
class Job:
    """One research task on a home of its own, with its tool calls counted in a file."""

    home: Path
    counts: Path
    settled: set[str] = field(default_factory=set)  #: steps that were done at the last look
    before: Counter[str] = field(default_factory=Counter)

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start the command line."""
        command = [sys.executable, "-m", "tests.crash.counted", str(self.counts), *arguments]
        command += ["--home", str(self.home)]
        with (self.home.parent / "log").open("wb") as log:
            return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def calls(self) -> Counter[str]:
        """Return how often each step's tool was called."""
        return Counter(self.counts.read_text().split()) if self.counts.exists() else Counter()

    def run_again(self) -> set[str]:
        """Return steps that were done at the last look and called since; look anew."""
        after = self.calls()
        again = {name for name in self.settled if after[name] != self.before[name]}
        self.before = after
        if (self.home / "keptstep.db").exists():
            app = App.open(settings=Settings.load(self.home, {}))
            steps = [step for task in app.store.tasks() for step in app.store.steps(task.id)]
            self.settled = {step.name for step in steps if step.status is StepStatus.DONE}
            app.close()
        return again


def kill_after(process: "subprocess.Popen[bytes]", job: Job, more: int) -> None:
    """Kill a process when it has begun ``more`` further calls."""
    aim = sum(job.calls().values()) + more
    while sum(job.calls().values()) < aim:
        assert process.poll() is None, (job.home.parent / "log").read_text()[-2000:]
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_fifty_kills_at_moments_of_chance_and_no_finished_step_runs_again(tmp_path: Path) -> None:
    seed = int(os.environ.get("KEPTSTEP_TEST_SEED", "7"))
    chance = random.Random(seed)
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(FILES):
        text = (
            f"Note {number}. The lamp of room {number} is repaired by turning it {number} times."
        )
        (sources / f"{number:03}.md").write_text(text)
    job = Job(tmp_path / "home", tmp_path / "counts")

    arguments = ["research", QUESTION, "--source", str(sources)]
    for kill in range(KILLS):
        kill_after(job.start(*arguments), job, chance.randint(8, 36))
        assert job.run_again() == set(), f"seed {seed}, kill {kill}"
        arguments = ["resume"]
    last = job.start("resume")
    assert last.wait(timeout=120) == 0, (tmp_path / "log").read_text()[-2000:]
    assert job.run_again() == set(), f"seed {seed}, at the end"

    app = App.open(settings=Settings.load(job.home, {}))
    (task,) = app.store.tasks()
    assert task.status is TaskStatus.DONE
    assert task.artifact_id is not None
    report = app.artifacts.read(app.store.artifact(task.artifact_id).sha).decode()
    app.close()
    assert "turning it 7 times" in report
