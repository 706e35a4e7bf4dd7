"""A home for each test, the command as a process and in this one, and tasks to look at."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import keptstep
import tests.ops.demo
from keptstep import App, Settings
from keptstep.models.ids import TaskId
from keptstep.ops.cli import app as command_line

ROOT = Path(keptstep.__file__).parent.parent
DEMO = tests.ops.demo.__name__
LIMIT = 50.0  # seconds until a process that hangs is given up; nothing is measured by it


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What ``--json`` printed to stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that ``--json`` printed: the last line of stderr."""
        return json.loads(self.err.splitlines()[-1])["error"]


Command = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return where the test's home is or will be."""
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Return the environment of the command's processes: this checkout, this home, no delays."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEPTSTEP_")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "KEPTSTEP_HOME": str(home),
        "KEPTSTEP_SWEEP": "0.05",
        "KEPTSTEP_GRACE": "0.2",
        "KEPTSTEP_IMPORT": DEMO,
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture
def process(environment: dict[str, str], tmp_path: Path) -> Command:
    """Return a function that runs the command as a process of its own."""

    def run(*words: str, cwd: Path = tmp_path, **more: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "keptstep", *words],
            env=environment | more,
            cwd=cwd,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=LIMIT,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def started(
    environment: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts the command; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*words: str, **more: str) -> subprocess.Popen[str]:
        one = subprocess.Popen(
            [sys.executable, "-m", "keptstep", *words],
            env=environment | more,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        running.append(one)
        return one

    yield start
    for one in running:
        one.kill()
        one.communicate()


@pytest.fixture
def inside(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Return a function that runs the command in this process: for what only reads."""
    root = logging.getLogger()
    before = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in ("keptstep", "dramatiq")}
    for name in ("KEPTSTEP_HOME", "KEPTSTEP_SWEEP", "KEPTSTEP_GRACE", "KEPTSTEP_IMPORT"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> Ran:
        done = CliRunner().invoke(command_line, list(words))
        return Ran(done.exit_code, done.stdout, done.stderr)

    yield run
    root.handlers, root.level = before
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def opened(home: Path) -> Iterator[App]:
    """Return an app on the home that is not started."""
    app = App.open(settings=Settings.load(home, {}, sweep=0.05, workers=2, grace=1.0))
    yield app
    app.close()


@pytest.fixture
def submitted(opened: App) -> Callable[..., str]:
    """Return a function that submits a demo workflow and returns the task's id."""

    def submit(workflow: str, **inputs: Any) -> str:
        return opened.submit(workflow, **inputs).id.hex()

    return submit


@pytest.fixture
def ended(opened: App) -> Callable[..., str]:
    """Return a function that runs a demo workflow to its end and returns the task's id."""

    def run(workflow: str, **inputs: Any) -> str:
        handle = opened.start().submit(workflow, **inputs)
        handle.wait(LIMIT)
        return handle.id.hex()

    return run


@pytest.fixture
def step_named(opened: App) -> Callable[[str, str], str]:
    """Return a function that finds the id of a task's step by its name."""

    def find(task: str, name: str) -> str:
        steps = opened.store.steps(TaskId(bytes.fromhex(task)))
        return next(step.id.hex() for step in steps if step.name == name)

    return find


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Return a pipe through which a holding step tells that it began."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def wait_for_step(gate: Path) -> None:
    """Return as soon as a step holds: reading waits for what it writes."""
    assert gate.read_text() == "begun"
