"""What a crash test finds: boundaries, what was seen around a death, trials, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from keptstep.models.artifacts import Effect
from keptstep.models.states import StepStatus, TaskStatus


class Kind(StrEnum):
    """What a boundary is made of."""

    POINT = "point"  #: a named point of the protocol
    CALL = "system call"  #: a system call that changes or syncs a file of the home


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where a process dies: as it reaches a point, or just before a system call."""

    kind: Kind
    name: str  #: ``claim.committed``, or ``fsync of a folder``
    nth: int  #: which reach of it, from 1
    after: str = ""  #: of a system call: the last point that was reached before it

    def __str__(self) -> str:
        """Return it as one line."""
        nth = f" #{self.nth}" if self.nth > 1 else ""
        return f"{self.name}{nth}" + (f", after {self.after}" if self.after else "")


@dataclass(frozen=True, slots=True)
class Errand:
    """What one process is to do on one home."""

    home: str
    failed: str = ""  #: the file for the reason, if it cannot be done
    prepare: bool = False  #: only make the home
    points: str = ""  #: the file that each point reached is appended to
    kill: str = ""  #: the point to die at
    nth: int = 1
    pause: bool = False  #: be stopped at the point instead
    gate: str = ""  #: a pipe: begin when its other end is closed
    lease: float = 15.0
    settings: dict[str, Any] = field(default_factory=dict)  #: further settings by name
    fork: bool = True


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool, noted before the tool's own code began."""

    step: str
    key: str  #: the idempotency key the call was offered
    attempt: int


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step as it is on record."""

    name: str
    effect: Effect
    artifact_class: int
    status: StepStatus
    attempts: int
    max_attempts: int
    starts: int  #: calls that are on record as started
    results: int  #: results that are on record as persisted
    shown: int  #: outcomes of attempts that are on record, and so may have been told
    verdicts: int  #: how often its open outcome was settled
    again: int  #: how often an attempt or a verdict that is on record set it going again
    late: int  #: results of attempts that were no longer current, kept as evidence
    marked: bool  #: its payload is on record as persisted under the present token
    sha: str | None  #: the hash of its payload
    intact: bool  #: the payload's file matches that hash


@dataclass(frozen=True, slots=True)
class Seen:
    """A home as it is on record: its one task, or nothing yet."""

    status: TaskStatus | None = None
    steps: Mapping[str, StepSeen] = field(default_factory=dict)
    contradictions: tuple[str, ...] = ()  #: where rows and log do not fit together


@dataclass(frozen=True, slots=True)
class StepTrial:
    """One step around one death."""

    name: str
    effect: str
    found: str  #: its status when the process had died; ``not planned`` before its row
    unpaired: bool  #: it was on record as started, without a result
    calls_before: int
    calls: int  #: with those of the recovery
    ended: str  #: its status when the recovery was over
    intact: bool  #: its result is kept and matches its hash
    late: int = 0  #: results that came too late and were kept as evidence
    violations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One death and what recovery made of it."""

    boundary: Boundary
    steps: tuple[StepTrial, ...]
    task: str  #: the task's status when the recovery was over
    violations: tuple[str, ...] = ()  #: of the home as a whole

    @property
    def broken(self) -> tuple[str, ...]:
        """Every rule that did not hold, in words; empty when all held."""
        each = (f"{step.name}: {told}" for step in self.steps for told in step.violations)
        return (*self.violations, *each)

    @property
    def calls(self) -> int:
        """How often tools were called, before the death and after it."""
        return sum(step.calls for step in self.steps)

    @property
    def ended(self) -> str:
        """How the steps ended, in words: ``done``, or ``2 done, 1 uncertain``."""
        counts = Counter(step.ended for step in self.steps)
        if len(self.steps) <= 1:
            return next(iter(counts), self.task)
        return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


@dataclass(frozen=True, slots=True)
class Subject:
    """What is put to the test, as its module declares it."""

    target: str  #: ``module:name``
    kind: str  #: ``tool`` or ``workflow``
    name: str
    effect: str | None = None  #: of a tool
    artifact_class: int | None = None
    takes_key: bool = False  #: the tool asks for a ``Context`` and so can see its key
    has_probe: bool = False  #: it can be asked whether a call happened
    forks: bool = True  #: its module is loaded once for all trials


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a crash test."""

    subject: Subject
    trials: tuple[Trial, ...]
    missed: tuple[Boundary, ...]  #: seen in the first run, not reached when it was to be killed
    traced: bool  #: whether system calls were among the boundaries
    untraced: str = ""  #: why they were not

    @property
    def broken(self) -> tuple[Trial, ...]:
        """Return the trials in which a rule did not hold."""
        return tuple(trial for trial in self.trials if trial.broken)

    @property
    def held(self) -> bool:
        """Whether every rule held wherever the process died."""
        return bool(self.trials) and not self.broken

    def at(self, point: str) -> list[Trial]:
        """Return the trials in which the process died at a named point."""
        found = (trial for trial in self.trials if trial.boundary.kind is Kind.POINT)
        return [trial for trial in found if trial.boundary.name == point]

    def document(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        from dataclasses import asdict

        return {
            **asdict(self.subject),
            "held": self.held,
            "traced": self.traced,
            "trials": [
                {**asdict(trial), "calls": trial.calls, "broken": list(trial.broken)}
                for trial in self.trials
            ],
            "missed": [asdict(boundary) for boundary in self.missed],
        }
