"""Ctrl-C and SIGTERM end the work as planned, a second one at once, kill -9 loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep import App
from keptstep.models.ids import TaskId
from tests.ops.conftest import LIMIT, Command, wait_for_step

pytestmark = pytest.mark.crash

Start = Callable[..., subprocess.Popen[str]]
Submit = Callable[..., str]


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def let_go(gate: Path) -> None:
    """Let the next try of a holding step return."""
    Path(f"{gate}.go").touch()


def test_ctrl_c_stops_as_planned_and_resume_goes_on(
    started: Start, submitted: Submit, process: Command, opened: App, gate: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    resume = started("resume", task)
    wait_for_step(gate)
    resume.send_signal(signal.SIGINT)
    code, out, err = end_of(resume)
    assert (code, out) == (130, "")
    assert "stopping: running steps get 200 ms; Ctrl-C again stops at once" in err
    last = err.splitlines()[-1]
    assert last.startswith(
        f"stopped: Ctrl-C; task {task[-8:]} is kept, go on with: keptstep resume"
    )
    assert "Traceback" not in err
    held = opened.store.steps(TaskId(bytes.fromhex(task)))[1]
    assert (held.status, held.attempts, held.owner) == ("ready", 0, None)
    let_go(gate)
    again = process("resume", task)
    assert (again.code, again.out) == (0, "went\n")
    assert "1 of 2 steps done before" in again.err
    first = opened.store.steps(TaskId(bytes.fromhex(task)))[0]
    assert len(opened.store.attempts(first.id)) == 1


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"]
)
def test_other_signals_stop_as_planned_too(
    started: Start, submitted: Submit, gate: Path, sent: signal.Signals, code: int
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    resume = started("resume", task)
    wait_for_step(gate)
    resume.send_signal(sent)
    ended, out, err = end_of(resume)
    assert (ended, out) == (code, "")
    assert f"stopped: {sent.name}; task {task[-8:]} is kept" in err


def test_a_second_signal_ends_the_process_at_once(
    started: Start, submitted: Submit, gate: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    # Without the second signal the process would wait for its step for an hour.
    resume = started("resume", task, KEPTSTEP_GRACE="3600")
    wait_for_step(gate)
    resume.send_signal(signal.SIGINT)
    assert resume.stderr is not None
    while "stopping" not in resume.stderr.readline():
        pass
    resume.send_signal(signal.SIGINT)
    code, out, err = end_of(resume)
    assert (code, out) == (130, "")
    assert "stopped at once; what is kept stays kept" in err
    assert "Traceback" not in err


def test_a_stop_in_json_is_one_object_on_stderr(
    started: Start, submitted: Submit, gate: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    resume = started("resume", task, "--json")
    wait_for_step(gate)
    resume.send_signal(signal.SIGINT)
    code, out, err = end_of(resume)
    assert (code, out) == (130, "")
    error = json.loads(err)["error"]
    assert (error["kind"], error["exit_code"], error["task_id"]) == ("Interrupted", 130, task)


def test_a_signal_that_was_ignored_stays_ignored(
    environment: dict[str, str], submitted: Submit, gate: Path, tmp_path: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    # What a shell does with a command in the background: Ctrl-C is not meant for it.
    script = 'trap "" INT; exec "$@"'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "keptstep", "resume", task]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as resume:
        wait_for_step(gate)
        resume.send_signal(signal.SIGINT)
        resume.send_signal(signal.SIGTERM)
        _, err = resume.communicate(timeout=LIMIT)
    assert resume.returncode == 143
    assert "stopped: SIGTERM" in err


def test_a_stop_before_the_work_begins_submits_nothing(
    started: Start, process: Command, gate: Path, tmp_path: Path
) -> None:
    source = tmp_path / "notes.md"
    source.write_text("A lease is 15 seconds long.\n")
    (tmp_path / "slow_module.py").write_text(
        "import signal, os, pathlib\n"
        f"pathlib.Path({str(gate)!r}).write_text('begun')\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    words = ("research", "How long?", "-s", str(source), "--import", "slow_module")
    stopped = started(*words)
    wait_for_step(gate)
    code, out, err = end_of(stopped)
    assert (code, out, err) == (130, "", "stopped: Ctrl-C; nothing was begun\n")
    assert process("ls", "--json").document == []


def test_resume_of_all_tells_how_many_are_left(
    started: Start, submitted: Submit, gate: Path
) -> None:
    submitted("demo.hold", gate=str(gate))
    resume = started("resume")
    wait_for_step(gate)
    resume.send_signal(signal.SIGINT)
    code, _, err = end_of(resume)
    assert code == 130
    assert "Ctrl-C; 1 unfinished task kept, go on with: keptstep resume" in err


def test_a_killed_process_is_taken_over_from_where_it_was(
    started: Start, submitted: Submit, process: Command, opened: App, gate: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    killed = started("resume", task)
    wait_for_step(gate)
    explained = process("explain", f"{task}/hold").out
    assert "leave it alone: running: lease held by " in explained
    killed.kill()
    assert killed.wait(LIMIT) == -signal.SIGKILL
    assert "run it: worker " in process("explain", f"{task}/hold").out
    let_go(gate)
    again = process("resume", task)
    assert (again.code, again.out) == (0, "went\n")
    first, hold = opened.store.steps(TaskId(bytes.fromhex(task)))
    assert [len(opened.store.attempts(step.id)) for step in (first, hold)] == [1, 2]


def test_a_side_effect_that_was_killed_waits_for_a_person(
    started: Start, submitted: Submit, process: Command, gate: Path
) -> None:
    task = submitted("demo.pay", gate=str(gate))
    killed = started("resume", task)
    wait_for_step(gate)
    killed.kill()
    killed.wait(LIMIT)
    let_go(gate)
    again = process("resume", task)
    assert (again.code, again.out) == (4, "")
    assert f"blocked: task {task[-8:]}: step pay is uncertain" in again.err
    assert (
        process("resume", "--json").document[0]["standstill"].startswith("step pay is uncertain")
    )
    assert process("resume").code == 4
    assert "uncertain" in process("ls").out


def test_a_worker_works_until_it_is_stopped_and_ends_well(
    started: Start, submitted: Submit, process: Command, gate: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    worker = started("worker", "--json")
    wait_for_step(gate)
    assert worker.stdout is not None
    while (line := worker.stdout.readline()) != "}\n":
        assert line, "the worker ended before it told that it works"
    shown = process("show", task).out
    assert "held by" in shown
    assert "running" in shown
    worker.send_signal(signal.SIGTERM)
    code, out, err = end_of(worker)
    assert (code, out) == (0, "")
    assert "Traceback" not in err


def test_what_is_submitted_later_reaches_a_running_worker(
    started: Start, submitted: Submit, gate: Path
) -> None:
    worker = started("worker")
    assert worker.stderr is not None
    assert "Ctrl-C stops as planned" in worker.stderr.readline()
    submitted("demo.hold", gate=str(gate))
    wait_for_step(gate)
    worker.send_signal(signal.SIGINT)
    assert end_of(worker)[0] == 0


def test_following_events_shows_what_happens_until_the_end(
    started: Start, submitted: Submit, process: Command, gate: Path
) -> None:
    task = submitted("demo.hold", gate=str(gate))
    follow = started("events", task, "--follow", "--json")
    let_go(gate)
    assert process("resume", task).code == 0
    code, out, _ = end_of(follow)
    assert code == 0
    assert json.loads(out) == process("events", task, "--json").document


def test_ctrl_c_ends_following_with_a_whole_document(started: Start, submitted: Submit) -> None:
    task = submitted("demo.say", text="never run")
    follow = started("events", task, "--follow", "--json")
    assert follow.stdout is not None
    first = follow.stdout.readline()
    follow.send_signal(signal.SIGINT)
    code, rest, err = end_of(follow)
    assert (code, err) == (130, "")
    assert [event["kind"] for event in json.loads(first + rest)] == ["task_submitted"]
