"""A whole crash test: die at every boundary there is, one after the other, and report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from keptstep.models.points import POINTS
from keptstep.testing.crash import syscalls
from keptstep.testing.crash.harness import CrashTest
from keptstep.testing.crash.processes import DidNotEnd, Failed
from keptstep.testing.crash.records import Boundary, Kind, Report, Trial


def crash_test(
    target: str,
    inputs: Mapping[str, object] | None = None,
    *,
    points: Collection[str] = POINTS,
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
        return run_all(test, points=points, reaches=reaches, calls=calls, told=told)


def run_all(
    test: CrashTest,
    *,
    points: Collection[str] = POINTS,
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

    for boundary in test.reaches(points, reaches):
        note(boundary, _ending(boundary, partial(test.die_at, boundary.name, boundary.nth)))
    untraced = syscalls.why_not() if calls != 0 else "not asked for"
    if not untraced:
        for aim in test.calls(calls):
            boundary = Boundary(Kind.CALL, aim.name, aim.nth)
            note(boundary, _ending(boundary, partial(test.die_in, aim)))
    return Report(test.subject, tuple(trials), tuple(missed), not untraced, untraced)


def _ending(boundary: Boundary, trial: Callable[[], Trial | None]) -> Trial | None:
    """Return the trial; a recovery that comes to no good end breaks a promise like any other."""
    try:
        return trial()
    except (DidNotEnd, Failed) as error:
        return Trial(boundary, (), "running", (f"after it, {error}",))
