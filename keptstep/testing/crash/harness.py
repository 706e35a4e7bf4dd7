"""The crash test itself: die at each boundary, recover in a fresh process, count and compare."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keptstep.models.errors import BadInput, KeptstepError
from keptstep.models.points import POINTS
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.crash import syscalls
from keptstep.testing.crash.processes import KILLED, Nursery
from keptstep.testing.crash.records import Boundary, Errand, Kind, Report, Seen, Subject, Trial
from keptstep.testing.crash.rules import judge_home, judge_steps
from keptstep.testing.crash.seen import look, read_calls

_SHORT_LEASE = 1.0  # seconds: of a worker that is to lose it


class CrashTest:
    """One target, killed again and again. Use it as a context manager.

    ``target`` is ``module:name`` of a tool or workflow, ``inputs`` its arguments by name, which
    have to be plain JSON values. ``seconds`` is how long one process may take to its end,
    ``env`` is added to its environment. With ``fresh`` every process is a new interpreter;
    otherwise it is a fork of one that has loaded the module, if the module starts no threads.

    Everything happens in a temporary folder. The tool is really called, in every trial anew.
    Raises ``BadInput`` for a target or inputs that cannot be taken.
    """

    def __init__(
        self,
        target: str,
        inputs: Mapping[str, object] | None = None,
        *,
        seconds: float = 60.0,
        env: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        self._seconds = seconds
        self._numbers = iter(range(1 << 30))
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="keptstep-crash-"))
            self._folder = Path(folder).resolve()
            self._nursery = stack.enter_context(
                Nursery(target, inputs or {}, self._folder, env=env, fresh=fresh)
            )
            self._stack = stack.pop_all()
        self._template: Path | None = None

    @property
    def subject(self) -> Subject:
        """What is put to the test."""
        return self._nursery.subject

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes and remove the temporary folder."""
        self._stack.close()

    # -- what there is to die at -------------------------------------------------------------
    def points(self, reaches: int | None = None) -> list[Boundary]:
        """Return every reach of every point in a run that is not killed, in the order of points.

        With ``reaches`` at most that many of each point, spread over the run. Raises
        ``BadInput`` when that run does not end well: its crashes would prove nothing.
        """
        home, reached = self._new_home(), self._new_path("points")
        self._run(Errand(str(home), points=str(reached)))
        self._must_be_done(look(home))
        counts = Counter(reached.read_text().split())
        boundaries: list[Boundary] = []
        for point in POINTS:
            every = range(1, counts[point] + 1)
            chosen = every if reaches is None else _spread(every, reaches)
            boundaries += [Boundary(Kind.POINT, point, nth) for nth in chosen]
        return boundaries

    def calls(self, most: int | None = None) -> list[syscalls.Aim]:
        """Return the system calls to die at: all, or ``most``, one of each kind first.

        Raises ``TraceFailed`` where nothing can be traced.
        """
        home, reached = self._new_home(), self._new_path("points")
        log = self._new_path("trace")
        self._run(Errand(str(home), points=str(reached)), log)
        return syscalls.aims(syscalls.attempts(log, home, reached), most)

    # -- one death ---------------------------------------------------------------------------
    def die_at(self, point: str, nth: int = 1) -> Trial | None:
        """Die at the ``nth`` reach of a point, recover and judge; ``None`` if it was not reached.

        Raises ``DidNotEnd`` when the recovery does not come to its end.
        """
        home, reached = self._new_home(), self._new_path("points")
        ended = self._run(Errand(str(home), points=str(reached), kill=point, nth=nth))
        if ended != KILLED:
            return None
        return self._recovered(Boundary(Kind.POINT, point, nth), home, reached)

    def die_in(self, aim: syscalls.Aim) -> Trial | None:
        """Die in a system call, recover and judge; ``None`` if there was no such call."""
        home, reached = self._new_home(), self._new_path("points")
        log = self._new_path("trace")
        ended = self._run(Errand(str(home), points=str(reached)), log, aim)
        boundary = syscalls.hit(log, home, reached, aim) if ended == KILLED else None
        return self._recovered(boundary, home, reached) if boundary is not None else None

    def be_paused_at(self, point: str, nth: int = 1) -> Trial | None:
        """Stand still at a point until another worker has taken over, then go on too late."""
        home, reached = self._new_home(), self._new_path("points")
        late = self._nursery.start(
            Errand(
                str(home), points=str(reached), kill=point, nth=nth, pause=True, lease=_SHORT_LEASE
            )
        )
        if late.wait(self._seconds) is not None:
            return None
        before, calls_before = look(home), len(read_calls(self._nursery.calls))
        self._run(Errand(str(home), lease=_SHORT_LEASE))
        late.go_on()
        late.wait(self._seconds)
        shown = 0  # it goes on after this: what it tells is compared with nothing here
        return self._judged(Boundary(Kind.POINT, point, nth), home, before, calls_before, shown)

    # -- running -----------------------------------------------------------------------------
    def _recovered(self, boundary: Boundary, home: Path, reached: Path) -> Trial:
        before, calls_before = look(home), len(read_calls(self._nursery.calls))
        shown = reached.read_text().split().count("show") if reached.exists() else 0
        self._run(Errand(str(home)))
        return self._judged(boundary, home, before, calls_before, shown)

    def _judged(
        self, boundary: Boundary, home: Path, before: Seen, calls_before: int, shown: int
    ) -> Trial:
        after = look(home)
        calls = read_calls(self._nursery.calls)
        shutil.rmtree(home, ignore_errors=True)
        return Trial(
            boundary=boundary,
            steps=judge_steps(before, after, calls, calls_before),
            task=str(after.status or "lost"),
            violations=judge_home(before, after, shown),
        )

    def _run(
        self, errand: Errand, log: Path | None = None, aim: syscalls.Aim | None = None
    ) -> int | None:
        """Run a process to its end and return its exit code; raises if it failed by itself."""
        if log is None:
            ended = self._nursery.start(errand).wait(self._seconds)
        else:
            gate = syscalls.Gate(self._new_path("gate"))
            child = self._nursery.start(replace(errand, gate=str(gate.path)))
            gate.wait_for(child.pid)
            with syscalls.traced(child.pid, log, Path(errand.home), aim):
                gate.open()
                ended = child.wait(self._seconds)
        if ended not in (0, KILLED):
            raise KeptstepError(f"a process of the crash test failed: {self._nursery.said}")
        return ended

    def _new_path(self, name: str) -> Path:
        return self._folder / f"{name}-{next(self._numbers)}"

    def _new_home(self) -> Path:
        """Return a new home, and begin to count calls anew."""
        if self._template is None:
            self._template = self._new_path("template")
            self._run(Errand(str(self._template), prepare=True))
        home = self._new_path("home")
        shutil.copytree(self._template, home)
        self._nursery.calls.unlink(missing_ok=True)
        return home

    def _must_be_done(self, seen: Seen) -> None:
        if seen.status is TaskStatus.DONE:
            return
        open_ones = (s for s in seen.steps.values() if s.status is not StepStatus.DONE)
        told = ", ".join(f"{step.name} is {step.status}" for step in open_ones)
        raise BadInput(
            f"{self.subject.target} does not end well without any crash ({told or seen.status}): "
            "mend that first"
        )


def crash_test(
    target: str,
    inputs: Mapping[str, object] | None = None,
    *,
    reaches: int | None = None,
    calls: int | None = 0,
    told: Callable[[Trial], None] | None = None,
    **options: Any,
) -> Report:
    """Kill a tool or workflow at every boundary and return what became of it.

    ``reaches`` limits how many reaches of one point are tried, ``calls`` how many system calls
    (0: none; ``None``: all). ``told`` is called after each trial. Everything else is as for
    ``CrashTest``.
    """
    with CrashTest(target, inputs, **options) as test:
        return run_all(test, reaches=reaches, calls=calls, told=told)


def run_all(
    test: CrashTest,
    *,
    reaches: int | None = None,
    calls: int | None = 0,
    told: Callable[[Trial], None] | None = None,
) -> Report:
    """Do what ``crash_test`` does with a test that is open already."""
    trials: list[Trial] = []
    missed: list[Boundary] = []

    def note(boundary: Boundary, trial: Trial | None) -> None:
        if trial is None:
            missed.append(boundary)
            return
        trials.append(trial)
        if told is not None:
            told(trial)

    for boundary in test.points(reaches):
        note(boundary, test.die_at(boundary.name, boundary.nth))
    untraced = syscalls.why_not() if calls != 0 else "not asked for"
    if not untraced:
        for aim in test.calls(calls):
            note(Boundary(Kind.CALL, aim.name, aim.nth), test.die_in(aim))
    return Report(test.subject, tuple(trials), tuple(missed), not untraced, untraced)


def _spread(items: Sequence[int], count: int) -> list[int]:
    """Return ``count`` of the items: the first, the last and some between."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[0]]
    return [items[round(at * (len(items) - 1) / (count - 1))] for at in range(count)]
