"""What may be done with a step: the kernel's answers, each with a reason a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Run:
    """Run the step; with ``roll_forward`` its kept payload finishes it and nothing is called."""

    reason: str
    roll_forward: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Stop: it may already have acted, and only a verdict can say."""

    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """Give it up for good: its attempts are used up, or trying again cannot help."""

    reason: str


@dataclass(frozen=True, slots=True)
class LeaveAlone:
    """Do nothing: finished, held by a live worker, or not due."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after ``delay`` seconds."""

    reason: str
    delay: float


Decision = Run | Block | Fail | LeaveAlone


class Verdict(StrEnum):
    """A person's answer to an uncertain step (D3)."""

    HAPPENED = "happened"  #: it is done, with what evidence there is
    DID_NOT_HAPPEN = "did not happen"  #: it may run again
    ABANDON = "abandon"  #: it is given up, whatever happened
