"""The supervisor's loop around small processes: what it starts again, and when it gives up."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keptstep.models.errors import BadInput
from keptstep.workers import restarts
from keptstep.workers.supervised import VARIABLE, Link, Refusal
from keptstep.workers.supervisor import CannotWork, Stopped, Supervisor

pytestmark = pytest.mark.crash

PATIENCE = 30.0  # seconds; nothing that ends by itself takes as long

WORKER = """
import os, pathlib, signal, subprocess, sys, time
from keptstep.workers.supervised import Link, Refusal
link = Link.adopt()
folder = pathlib.Path(sys.argv[1])
def nth(name):
    "Which call this is, of all the processes'."
    file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, b".")
    return os.lseek(file, 0, os.SEEK_CUR)  # behind its own byte, whoever wrote after it
def work():
    link.working(lambda: os._exit(0), within=0)
def refuse(lasting):
    link.refuse(Refusal(5, "Some", "the home is busy", ("wait",), lasting))
    sys.exit(5)
def wait():
    while True:
        time.sleep(60)
"""


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start again at once."""
    monkeypatch.setattr(restarts, "FIRST", 0.001)


@pytest.fixture
def supervisor(tmp_path: Path) -> Callable[..., Supervisor]:
    """Return a function that makes a supervisor of workers that do what a script says."""

    def make(script: str, processes: int = 1, patience: float = PATIENCE) -> Supervisor:
        command = [sys.executable, "-c", WORKER + script, str(tmp_path)]
        return Supervisor(command, processes, patience=patience)

    return make


class Ears(logging.Handler):
    """Hears what the supervisor says, and asks it to stop at a word."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.stop_at = "never said"

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if self.stop_at in self.lines[-1]:
            stop()


@pytest.fixture
def ears() -> Iterator[Ears]:
    """Return what hears the supervisor."""
    heard = Ears()
    logger = logging.getLogger("keptstep.workers.supervisor")
    logger.addHandler(heard)
    yield heard
    logger.removeHandler(heard)


def stop() -> None:
    signal.raise_signal(signal.SIGTERM)


def nothing() -> None:
    """What a test has no interest in."""


STOPPED = Stopped(by=signal.SIGTERM, at_once=False)


def test_it_tells_that_the_work_begins_and_ends_when_asked(
    supervisor: Callable[..., Supervisor],
) -> None:
    calls = []

    def begun() -> None:
        calls.append("begun")
        stop()

    ended = supervisor("work(); wait()").run(begun, lambda: calls.append("stopping"))
    assert (ended, calls) == (STOPPED, ["begun", "stopping"])


def test_a_worker_that_was_told_to_wait_is_started_again_until_it_works(
    supervisor: Callable[..., Supervisor], ears: Ears
) -> None:
    script = "work() if nth('start') > 2 else refuse(lasting=False); wait()"
    assert supervisor(script).run(stop, nothing) == STOPPED
    assert len(ears.lines) == 2
    assert all("cannot work: the home is busy" in line for line in ears.lines)


def test_what_can_never_work_ends_it_with_the_workers_own_reason(
    supervisor: Callable[..., Supervisor], ears: Ears
) -> None:
    # The other worker is still starting: it is asked to stop, and gone when this returns.
    script = "refuse(lasting=True) if nth('start') == 1 else wait()"
    with pytest.raises(CannotWork) as error:
        supervisor(script, 2).run(nothing, nothing)
    assert error.value.refusal == Refusal(5, "Some", "the home is busy", ("wait",), True)
    assert ears.lines == []


def test_a_worker_that_can_never_work_does_not_stop_one_that_works(
    supervisor: Callable[..., Supervisor], ears: Ears
) -> None:
    script = """
if nth("start") == 1:
    work()
else:
    while not (folder / "begun").exists():
        time.sleep(0.01)
    refuse(lasting=True)
wait()
"""
    ears.stop_at = "death 2 in a row"
    one = supervisor(script, 2)
    assert one.run(lambda: touch_begun(one), nothing) == STOPPED
    assert len(ears.lines) == 2


def touch_begun(one: Supervisor) -> None:
    Path(one._command[-1], "begun").touch()


def test_a_command_line_that_is_refused_is_not_tried_again(
    supervisor: Callable[..., Supervisor], ears: Ears
) -> None:
    with pytest.raises(CannotWork, match="its error stands above"):
        supervisor("sys.exit(2)").run(nothing, nothing)
    assert ears.lines == []


def test_a_system_that_starts_no_process_is_asked_again(tmp_path: Path, ears: Ears) -> None:
    ears.stop_at = "another try"
    one = Supervisor([str(tmp_path / "not-there")], 1, patience=PATIENCE)
    assert one.run(nothing, nothing) == STOPPED
    assert "No such file or directory" in ears.lines[0]


def test_a_worker_that_does_not_stop_is_killed(
    supervisor: Callable[..., Supervisor], ears: Ears
) -> None:
    script = "signal.signal(signal.SIGTERM, signal.SIG_IGN); work(); wait()"
    assert supervisor(script, patience=0.05).run(stop, nothing) == STOPPED
    assert "did not stop within 0.05 s: killed" in ears.lines[0]


def test_a_second_signal_kills_what_does_not_stop(supervisor: Callable[..., Supervisor]) -> None:
    script = "signal.signal(signal.SIGTERM, signal.SIG_IGN); work(); wait()"
    ended = supervisor(script).run(stop, lambda: signal.raise_signal(signal.SIGINT))
    assert ended == Stopped(by=signal.SIGINT, at_once=True)


def test_what_a_dead_worker_left_running_ends_with_it(
    supervisor: Callable[..., Supervisor], tmp_path: Path
) -> None:
    """A subprocess of a step must not go on beside the step's next attempt."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script = """
if nth("start") == 1:
    with open(folder / "pipe", "w") as pipe:
        subprocess.Popen(["sleep", "1000"], stdout=pipe)
    os._exit(9)
work(); wait()
"""
    assert supervisor(script).run(stop, nothing) == STOPPED
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # nobody holds the other end any more
    os.close(reader)


def test_a_signal_that_was_ignored_stays_ignored(supervisor: Callable[..., Supervisor]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:

        def begun() -> None:
            signal.raise_signal(signal.SIGHUP)
            stop()

        assert supervisor("work(); wait()").run(begun, nothing) == STOPPED
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_signals_are_given_back(supervisor: Callable[..., Supervisor]) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    before = [signal.getsignal(number) for number in numbers]
    supervisor("work(); wait()").run(stop, nothing)
    assert [signal.getsignal(number) for number in numbers] == before


# -- the worker's end of the line -----------------------------------------------------------------
def test_without_a_supervisor_there_is_no_line() -> None:
    assert Link.adopt({}) is None


@pytest.mark.parametrize("named", ["", "many", "-1", "999999"])
def test_a_variable_that_names_no_line_is_refused(named: str) -> None:
    with pytest.raises(BadInput, match="unset it"):
        Link.adopt({VARIABLE: named})


def test_what_a_worker_starts_does_not_take_itself_for_one(
    supervisor: Callable[..., Supervisor], tmp_path: Path
) -> None:
    script = f"""
(folder / "named").write_text(str({VARIABLE!r} in os.environ))
open_in_child = subprocess.run(
    [sys.executable, "-c", "import os, sys; os.fstat(int(sys.argv[1]))",
     str(link._line.fileno())], close_fds=False, stderr=subprocess.DEVNULL
).returncode
(folder / "inherited").write_text(str(open_in_child == 0))
work(); wait()
"""
    supervisor(script).run(stop, nothing)
    assert (tmp_path / "named").read_text() == "False"
    assert (tmp_path / "inherited").read_text() == "False"


def test_a_worker_that_does_not_end_after_its_supervisor_is_ended(tmp_path: Path) -> None:
    """Its planned stop hangs; nobody else is there to kill it."""
    script = "link.working(lambda: None, within=0.05); wait()"
    parent = (
        "import sys, os, signal; from keptstep.workers.supervisor import Supervisor; "
        "die = lambda: os.kill(os.getpid(), signal.SIGKILL); "
        "Supervisor(sys.argv[1:], 1, patience=30).run(die, die)"
    )
    command = [sys.executable, "-c", parent, sys.executable, "-c", WORKER + script, str(tmp_path)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=50)
    # The worker held the pipe too: that this was read to its end says that it is gone.
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, b"")
