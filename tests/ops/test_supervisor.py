"""``keptstep worker --processes N``: one dying worker stops no other, and none is left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keptstep import App
from keptstep.models.ids import TaskId
from keptstep.models.records import Step
from keptstep.models.states import TASK_FINISHED, StepStatus, TaskStatus
from tests.ops.conftest import LIMIT, Command, wait_for_step

pytestmark = [pytest.mark.crash, pytest.mark.slow]

Start = Callable[..., subprocess.Popen[str]]
Submit = Callable[..., str]


@pytest.fixture
def started(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts the command as a terminal does: in a group of its own."""
    running: list[subprocess.Popen[str]] = []

    def start(*words: str, **more: str) -> subprocess.Popen[str]:
        one = subprocess.Popen(
            [sys.executable, "-m", "keptstep", "worker", *words],
            env=environment | more,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        running.append(one)
        return one

    yield start
    for one in running:
        one.kill()
        one.communicate()  # its workers hold the other end until they end


def document(process: subprocess.Popen[str]) -> Any:
    """Return what it printed when it began; nothing else may stand on stdout."""
    assert process.stdout is not None
    lines = []
    while (line := process.stdout.readline()) != "}\n":
        assert line, "it ended before it told that it works"
        lines.append(line)
    return json.loads("".join([*lines, "}"]))


def heard(process: subprocess.Popen[str], words: str) -> str:
    """Return the next line on stderr with these words in it."""
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, f"it ended and never said {words!r}"
    return line


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return code and output once the supervisor and all its workers are gone."""
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def step_of(app: App, task: str) -> Step:
    (step,) = app.store.steps(TaskId(bytes.fromhex(task)))
    return step


def ended(app: App, task: str) -> TaskStatus:
    """Return how a task ended, as soon as it did."""
    until = time.monotonic() + LIMIT
    while (status := app.store.task(TaskId(bytes.fromhex(task))).status) not in TASK_FINISHED:
        assert time.monotonic() < until, f"the task is still {status}"
        time.sleep(0.05)
    return status


def test_a_killed_worker_is_replaced_and_the_others_work_on(
    started: Start, submitted: Submit, opened: App, gate: Path
) -> None:
    supervisor = started("--processes", "3", "--json", "--verbose")
    begun = document(supervisor)
    assert (begun["pid"], len(set(begun["pids"]))) == (supervisor.pid, 3)
    task = submitted("demo.where", gate=str(gate))
    holder = int(gate.read_text())
    assert holder in begun["pids"]
    other = next(pid for pid in begun["pids"] if pid != holder)
    os.kill(other, signal.SIGKILL)
    line = heard(supervisor, f"worker {other} was killed by SIGKILL")
    assert "the next starts in 1 s (death 1 in a row, 1 in all)" in line
    heard(supervisor, "takes the place of one that died")
    assert step_of(opened, task).attempts == 1
    os.kill(holder, signal.SIGKILL)
    assert int(gate.read_text()) not in {holder, other}
    assert step_of(opened, task).attempts == 2
    supervisor.terminate()
    code, out, err = end_of(supervisor)
    assert (code, out) == (0, "")
    assert "Traceback" not in err


def test_a_step_that_kills_its_worker_is_given_up_and_starves_nobody(
    started: Start, submitted: Submit, opened: App
) -> None:
    poison = submitted("demo.die")
    # What ran beside it in its worker died with it: these have an attempt more than it.
    others = [submitted("demo.say", text=str(n)) for n in range(4)]
    supervisor = started("--processes", "2")
    assert {ended(opened, task) for task in others} == {TaskStatus.DONE}
    assert ended(opened, poison) is TaskStatus.FAILED
    dead_letter = step_of(opened, poison)
    assert (dead_letter.status, dead_letter.attempts) == (StepStatus.FAILED, 2)
    assert len(opened.store.attempts(dead_letter.id)) == 2
    supervisor.terminate()
    code, _, err = end_of(supervisor)
    assert code == 0
    assert err.count("ended with exit code 9") == 2


def test_ctrl_c_in_a_terminal_reaches_each_worker_once(
    started: Start, submitted: Submit, opened: App, gate: Path
) -> None:
    supervisor = started("--processes", "2")
    task = submitted("demo.hold", gate=str(gate))
    wait_for_step(gate)
    os.killpg(supervisor.pid, signal.SIGINT)
    code, out, err = end_of(supervisor)
    assert (code, out) == (0, "")
    first, stopping, last = err.splitlines()
    assert "2 workers (pids" in first
    assert stopping.startswith("stopping: the workers get ")
    assert last == "stopped by Ctrl-C; everything is kept"
    # A worker hit twice would have ended where it stood, its attempt counted.
    held = opened.store.steps(TaskId(bytes.fromhex(task)))[1]
    assert (held.status, held.attempts, held.owner) == ("ready", 0, None)


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_stop_the_workers_too(started: Start, asked: signal.Signals) -> None:
    supervisor = started("--processes", "1", "--json")
    document(supervisor)
    supervisor.send_signal(asked)
    assert end_of(supervisor) == (0, "", "")


def test_a_second_ctrl_c_ends_everything_at_once(
    started: Start, submitted: Submit, opened: App, gate: Path
) -> None:
    # Without the second one the workers would have two hours.
    supervisor = started("--processes", "2", KEPTSTEP_GRACE="3600")
    task = submitted("demo.hold", gate=str(gate))
    wait_for_step(gate)
    supervisor.send_signal(signal.SIGINT)
    heard(supervisor, "Ctrl-C again stops at once")
    supervisor.send_signal(signal.SIGINT)
    code, _, err = end_of(supervisor)
    assert code == 130
    assert err.splitlines()[-1] == "stopped at once; what is kept stays kept"
    assert opened.store.steps(TaskId(bytes.fromhex(task)))[1].status is StepStatus.RUNNING


def test_workers_whose_supervisor_was_killed_stop_as_planned(
    started: Start, submitted: Submit, opened: App, gate: Path
) -> None:
    supervisor = started("--processes", "2")
    task = submitted("demo.hold", gate=str(gate))
    wait_for_step(gate)
    supervisor.kill()
    code, _, err = end_of(supervisor)
    assert code == -signal.SIGKILL
    assert "the supervisor of worker process" in err
    held = opened.store.steps(TaskId(bytes.fromhex(task)))[1]
    assert (held.status, held.attempts, held.owner) == ("ready", 0, None)


def test_a_module_that_is_not_there_ends_it_with_2(process: Command) -> None:
    ran = process("worker", "--processes", "3", "--import", "no_such_module")
    said = "error: there is no module no_such_module, here or installed\n"
    assert (ran.code, ran.out, ran.err) == (2, "", said)


def test_a_home_that_cannot_be_used_ends_it_with_5(process: Command, home: Path) -> None:
    home.write_text("not a folder")
    ran = process("worker", "--processes", "2", "--json")
    assert (ran.code, ran.out) == (5, "")
    assert (ran.error["kind"], ran.error["exit_code"]) == ("HomeNotWritable", 5)
