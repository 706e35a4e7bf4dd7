"""The crash test itself: die at each boundary, recover in a fresh process, count and compare."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from keptstep.models.errors import BadInput
from keptstep.models.points import POINTS
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.crash import syscalls
from keptstep.testing.crash.processes import KILLED, Child, DidNotEnd, Failed, Nursery
from keptstep.testing.crash.records import Boundary, Errand, Kind, Seen, Subject, Trial
from keptstep.testing.crash.rules import judge_home, judge_steps
from keptstep.testing.crash.seen import look, read_calls

_SHORT_LEASE = 1.0  # seconds: of a worker that is to lose it


@dataclass(frozen=True, slots=True)
class _Death:
    """How things were when a process had died, or stood still."""

    boundary: Boundary
    before: Seen
    calls: int
    shown: int  #: how often the process had told of an outcome


class CrashTest:
    """One target, killed again and again. Use it as a context manager.

    ``target`` is ``module:name`` of a tool or workflow, ``inputs`` its arguments by name, which
    have to be plain JSON values. ``seconds`` is how long one process may take to its end,
    ``env`` is added to its environment; ``settings`` are those of ``Settings`` by name, and
    nothing is read from the environment's. With ``fresh`` every process is a new interpreter;
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
        settings: Mapping[str, object] | None = None,
        fresh: bool = False,
    ) -> None:
        self._seconds = seconds
        self._settings = dict(settings or {})
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
    def reaches(self, points: Collection[str] = POINTS, most: int | None = None) -> list[Boundary]:
        """Return every reach of the points in a run that is not killed, in the order of points.

        With ``most`` at most that many of each point, spread over the run. Raises
        ``BadInput`` when that run does not end well: its crashes would prove nothing.
        """
        home, reached = self._new_home(), self._new_path("points")
        try:
            self._run(Errand(str(home), points=str(reached)))
        except (DidNotEnd, Failed) as error:
            raise self._not_well(str(error)) from None
        self._must_be_done(look(home))
        counts = Counter(reached.read_text().split())
        boundaries: list[Boundary] = []
        for point in points:
            every = range(1, counts[point] + 1)
            chosen = every if most is None else _spread(every, most)
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

    # -- deaths ------------------------------------------------------------------------------
    def die_at(self, point: str, nth: int = 1) -> Trial | None:
        """Die at the ``nth`` reach of a point, recover and judge; ``None`` if it was not reached.

        Raises ``DidNotEnd`` when the recovery does not come to its end.
        """
        trials = self.die_at_each([(point, nth)])
        return trials[0] if trials else None

    def die_at_each(self, deaths: Iterable[tuple[str, int]]) -> list[Trial]:
        """Die again and again on one home, each at the given reach of a point, then recover.

        Every death that happened is judged by how things were at the very end.
        """
        home = self._new_home()
        found = []
        for point, nth in deaths:
            reached = self._new_path("points")
            errand = Errand(str(home), points=str(reached), kill=point, nth=nth)
            if self._run(errand) == KILLED:
                found.append(self._found(Boundary(Kind.POINT, point, nth), home, reached))
        return self._recovered(home, found)

    def die_in(self, aim: syscalls.Aim) -> Trial | None:
        """Die in a system call, recover and judge; ``None`` if there was no such call."""
        home, reached = self._new_home(), self._new_path("points")
        log = self._new_path("trace")
        ended = self._run(Errand(str(home), points=str(reached)), log, aim)
        boundary = syscalls.hit(log, home, reached, aim) if ended == KILLED else None
        if boundary is None:
            return None
        return self._recovered(home, [self._found(boundary, home, reached)])[0]

    def be_paused_at(self, point: str, nth: int = 1) -> Trial | None:
        """Stand still at a point until another worker has taken over, then go on too late.

        ``None`` if the point was not reached. Needs a target whose processes are forks.
        """
        home, reached = self._new_home(), self._new_path("points")
        errand = Errand(str(home), points=str(reached), kill=point, nth=nth, pause=True)
        late = self._start(replace(errand, lease=_SHORT_LEASE))
        if late.wait(self._seconds) is not None:
            return None
        found = self._found(Boundary(Kind.POINT, point, nth), home, reached)
        self._run(Errand(str(home), lease=_SHORT_LEASE))
        late.go_on()
        late.wait(self._seconds)
        return self._judged(home, [found])[0]

    # -- judging -----------------------------------------------------------------------------
    def _found(self, boundary: Boundary, home: Path, reached: Path) -> _Death:
        shown = reached.read_text().split().count("show") if reached.exists() else 0
        return _Death(boundary, look(home), len(read_calls(self._nursery.calls)), shown)

    def _recovered(self, home: Path, deaths: Sequence[_Death]) -> list[Trial]:
        self._run(Errand(str(home)))
        return self._judged(home, deaths)

    def _judged(self, home: Path, deaths: Sequence[_Death]) -> list[Trial]:
        after, calls = look(home), read_calls(self._nursery.calls)
        shutil.rmtree(home, ignore_errors=True)
        return [
            Trial(
                boundary=death.boundary,
                steps=judge_steps(death.before, after, calls, death.calls),
                task=str(after.status or "lost"),
                violations=judge_home(death.before, after, death.shown),
            )
            for death in deaths
        ]

    # -- running -----------------------------------------------------------------------------
    def _run(
        self, errand: Errand, log: Path | None = None, aim: syscalls.Aim | None = None
    ) -> int | None:
        """Run a process to its end and return its exit code; raises ``Failed``."""
        if log is None:
            ended = self._start(errand).wait(self._seconds)
        else:
            gate = syscalls.Gate(self._new_path("gate"))
            child = self._start(replace(errand, gate=str(gate.path)))
            gate.wait_for(child.pid)
            with syscalls.traced(child.pid, log, Path(errand.home), aim):
                gate.open()
                ended = child.wait(self._seconds)
        if ended not in (0, KILLED):
            raise Failed(f"a process ended with {ended}: {self._nursery.reason}")
        return ended

    def _start(self, errand: Errand) -> Child:
        return self._nursery.start(replace(errand, settings=self._settings))

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
        raise self._not_well(told or str(seen.status))

    def _not_well(self, told: str) -> BadInput:
        return BadInput(
            f"{self.subject.target} does not end well without any crash ({told}): mend that first"
        )


def _spread(items: Sequence[int], count: int) -> list[int]:
    """Return ``count`` of the items: the first, the last and some between."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[0]]
    return [items[round(at * (len(items) - 1) / (count - 1))] for at in range(count)]
