"""The exit codes: what a script may rely on, and which error leads to which."""

from __future__ import annotations

from enum import IntEnum

from keptstep.models.errors import (
    Ambiguous,
    ArtifactCorrupt,
    ArtifactMissing,
    BadInput,
    IllegalMove,
    KeptstepError,
    KeyConflict,
    NotFound,
    PlanDifference,
    StepFailed,
    StoreError,
    TaskBlocked,
    TaskFailed,
    VerdictTooEarly,
)


class ExitCode(IntEnum):
    """Every code the command ends with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    BLOCKED = 4
    STORE = 5
    UNEXPECTED = 70
    OUTPUT = 74
    HUNG_UP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


#: Code -> what it means, as ``keptstep --help`` prints it.
MEANINGS: dict[ExitCode, str] = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "the task failed",
    ExitCode.USAGE: "wrong usage or input; nothing was changed",
    ExitCode.NOT_FOUND: "no such task, step, artifact or home, or an id that fits several",
    ExitCode.BLOCKED: "the task is blocked or waits for a person",
    ExitCode.STORE: "the home: busy, damaged, newer, not writable, disk full",
    ExitCode.UNEXPECTED: "an unexpected error in keptstep itself",
    ExitCode.OUTPUT: "the output could not be written",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP",
    ExitCode.BROKEN_PIPE: "the reader of the output went away",
}

_CODES: tuple[tuple[type[KeptstepError], ExitCode], ...] = (
    (NotFound, ExitCode.NOT_FOUND),
    (Ambiguous, ExitCode.NOT_FOUND),
    (StoreError, ExitCode.STORE),
    (ArtifactMissing, ExitCode.STORE),
    (ArtifactCorrupt, ExitCode.STORE),
    (TaskFailed, ExitCode.FAILED),
    (StepFailed, ExitCode.FAILED),
    (TaskBlocked, ExitCode.BLOCKED),
    (PlanDifference, ExitCode.BLOCKED),
    (VerdictTooEarly, ExitCode.BLOCKED),
    (BadInput, ExitCode.USAGE),
    (KeyConflict, ExitCode.USAGE),
    (IllegalMove, ExitCode.USAGE),
)


def code_of(error: KeptstepError) -> ExitCode:
    """Return the code an error of ours ends the command with."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.UNEXPECTED)


def epilog() -> str:
    """Return the table of codes for the help text, marked to keep its lines."""
    lines = [f"{code.value:>5}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["\b", "Exit codes:", *lines])
