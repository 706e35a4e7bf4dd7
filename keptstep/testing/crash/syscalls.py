"""System calls that change or sync a file of the home, and how to die just before one.

``strace`` kills a process as it enters a call; it counts calls by their name and for each thread
on its own. So a first run is traced, each of its calls becomes an aim of the form "the n-th
pwrite64 of some thread", and what was hit is read from the trace of the run that was killed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from keptstep.testing import synctrace
from keptstep.testing.crash.records import Boundary, Kind
from keptstep.testing.synctrace import TRACED, Call, TraceFailed

#: Calls that SQLite makes: these are counted for the database's own files alone.
_DATABASE = frozenset({"pwrite64", "fdatasync", "ftruncate"})
_ATTACH = 10.0  # seconds
_ENDINGS = {
    "": "the database",
    "-wal": "the log",
    "-shm": "the log's index",
    "-journal": "the journal",
}
_PLACES = (
    (re.compile(r"blobs/tmp/.+"), "a temporary file"),
    (re.compile(r"blobs/[0-9a-f]{2}/.+"), "a payload"),
    (re.compile(r"blobs(/[^/]+)?"), "a folder"),
    (re.compile(r"workers/.+"), "a worker's lock"),
)


@dataclass(frozen=True, slots=True)
class Aim:
    """To die as some thread enters its ``nth`` call of a name."""

    name: str
    nth: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A durable call that was about to be made, successful or not."""

    aim: Aim
    boundary: Boundary


def why_not() -> str:
    """Return why system calls cannot be traced here, or nothing."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    try:
        synctrace.trace(["true"])
    except TraceFailed as error:
        return str(error)
    return ""


class Gate:
    """A pipe at which a process waits for its tracer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDWR)  # both ends: opening it waits for nobody

    def wait_for(self, pid: int) -> None:
        """Return when the process waits; raises ``TraceFailed`` when it does not come."""
        end = time.monotonic() + _ATTACH
        while not Path(f"{self.path}.waits").exists():
            if time.monotonic() > end:
                raise TraceFailed(f"process {pid} did not come to where it is to be traced")
            time.sleep(0.001)

    def open(self) -> None:
        """Let the process go on."""
        os.write(self._end, b"!")
        os.close(self._end)


@contextmanager
def traced(pid: int, log: Path, home: Path, aim: Aim | None = None) -> Iterator[None]:
    """Trace a process that waits, with all it starts, until it ends; see it die at ``aim``."""
    names = ",".join(f"?{name}" for name in sorted(TRACED))
    command = ["strace", "-f", "-y", "-qq", "-s", "0", "-o", str(log)]
    command += ["-e", f"trace={names}", "-e", "signal=none"]
    if aim is not None:
        command += ["-e", f"inject={aim.name}:signal=KILL:when={aim.nth}"]
        if aim.name in _DATABASE:
            for ending in _ENDINGS:
                command += ["-P", f"{home}/keptstep.db{ending}"]
    strace = subprocess.Popen(  # noqa: S603 - a process of our own is traced
        [*command, "-p", str(pid)], stderr=subprocess.PIPE, text=True
    )
    try:
        _wait_until_attached(pid, strace)
        yield
        strace.wait(_ATTACH)
    finally:
        strace.kill()
        strace.communicate()


def _wait_until_attached(pid: int, strace: subprocess.Popen[str]) -> None:
    status = Path(f"/proc/{pid}/status")
    end = time.monotonic() + _ATTACH
    while "TracerPid:\t0\n" in status.read_text():
        if strace.poll() is not None or time.monotonic() > end:
            strace.kill()
            raise TraceFailed(f"strace could not attach: {strace.communicate()[1].strip()}")
        time.sleep(0.001)


def attempts(log: Path, home: Path, points: Path) -> list[Attempt]:
    """Return the durable calls of a traced run in the order in which they began."""
    reached = points.read_text().split() if points.exists() else []
    found: list[Attempt] = []
    by_thread: Counter[tuple[int, str]] = Counter()
    by_name: Counter[str] = Counter()
    passed = 0
    for call in synctrace.begun(log.read_text(errors="surrogateescape").splitlines()):
        if call.path == str(points) and call.name == "writev":
            passed += 1
            continue
        inside = f"{call.path}/".startswith(f"{home}/") or call.target.startswith(f"{home}/")
        if call.name in _DATABASE and not inside:
            continue
        by_thread[call.pid, call.name] += 1
        if not inside or not _durable(call):
            continue
        name = f"{call.name} of {kind_of(call, home)}"
        by_name[name] += 1
        after = reached[passed - 1] if passed else ""
        aim = Aim(call.name, by_thread[call.pid, call.name])
        found.append(Attempt(aim, Boundary(Kind.CALL, name, by_name[name], after)))
    return found


def hit(log: Path, home: Path, points: Path, aim: Aim) -> Boundary | None:
    """Return which boundary an aim has hit, if it hit one."""
    reached = points.read_text().split() if points.exists() else []
    for attempt in attempts(log, home, points):
        if attempt.aim == aim:
            # Not every point stands in the trace of one file; the last one reached is known.
            return replace(attempt.boundary, after=reached[-1] if reached else "")
    return None


def aims(found: Sequence[Attempt], most: int | None) -> list[Aim]:
    """Return what to aim at: everything, or ``most`` with one of each kind after each point."""
    first: dict[tuple[str, str], Aim] = {}
    for attempt in found:
        first.setdefault((attempt.boundary.name, attempt.boundary.after), attempt.aim)
    every = list(dict.fromkeys((*first.values(), *(attempt.aim for attempt in found))))
    if most is None or len(every) <= most:
        return every
    of_kinds = list(dict.fromkeys(first.values()))
    if len(of_kinds) >= most:
        return _spread(of_kinds, most)
    return of_kinds + _spread(every[len(of_kinds) :], most - len(of_kinds))


def _spread(items: Sequence[Aim], count: int) -> list[Aim]:
    return [items[at * len(items) // count] for at in range(count)]


def kind_of(call: Call, home: Path) -> str:
    """Return what kind of file a call is about, in words."""
    path = call.target or call.path
    inside = os.path.relpath(path, home)
    if inside.startswith("keptstep.db"):
        return _ENDINGS.get(inside.removeprefix("keptstep.db"), "the database")
    return next((word for pattern, word in _PLACES if pattern.fullmatch(inside)), "the home")


def _durable(call: Call) -> bool:
    """Whether a call changes or syncs something: opening to read does not."""
    if call.name in ("open", "openat"):
        return "O_CREAT" in call.args or "O_TRUNC" in call.args
    return True
