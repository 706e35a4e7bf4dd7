"""The statuses of tasks and steps and every move between them: one table each.

Nothing else in keptstep decides which move is legal. The tables are repeated as SQL checks and
triggers by the migrations, and a test walks both side by side.
"""

from __future__ import annotations

from enum import StrEnum

from keptstep.models.errors import IllegalMove


class StepStatus(StrEnum):
    """Where a step stands."""

    PENDING = "pending"  #: a step it needs is not done; the last need's finish ends this
    READY = "ready"  #: may be claimed once ``due_at`` is reached; a claim ends this
    RUNNING = "running"  #: a worker holds the lease; its finish, failure or death ends this
    WAITING = "waiting"  #: for a timer, a signal or a person; no worker is held
    DONE = "done"  #: the result is kept; nothing ends this
    FAILED = "failed"  #: failed for good, a dead letter; only an operator's retry ends this
    UNCERTAIN = "uncertain"  #: started, outcome unknown, not repeatable; a verdict ends this
    CANCELLED = "cancelled"  #: will not run; nothing ends this


class TaskStatus(StrEnum):
    """Where a task stands; the moves are those of its coordinator's unit of work, the advance."""

    READY = "ready"  #: an advance is due and may be claimed
    RUNNING = "running"  #: a worker holds the advance: the function is in its memory
    WAITING = "waiting"  #: nobody holds it; an unfinished step has to finish first
    BLOCKED = "blocked"  #: stopped for an operator, for example by a plan difference
    DONE = "done"  #: the function returned and its result is kept
    FAILED = "failed"  #: the function raised for good, or used up its attempts
    CANCELLED = "cancelled"  #: stopped by a person


_S, _T = StepStatus, TaskStatus

STEP_MOVES: dict[StepStatus, frozenset[StepStatus]] = {
    _S.PENDING: frozenset({_S.READY, _S.WAITING, _S.CANCELLED}),
    _S.READY: frozenset({_S.RUNNING, _S.FAILED, _S.CANCELLED}),
    _S.RUNNING: frozenset({_S.READY, _S.WAITING, _S.DONE, _S.FAILED, _S.UNCERTAIN, _S.CANCELLED}),
    _S.WAITING: frozenset({_S.READY, _S.DONE, _S.FAILED, _S.CANCELLED}),
    _S.UNCERTAIN: frozenset({_S.READY, _S.DONE, _S.FAILED}),
    _S.FAILED: frozenset({_S.READY}),
    _S.DONE: frozenset(),
    _S.CANCELLED: frozenset(),
}

TASK_MOVES: dict[TaskStatus, frozenset[TaskStatus]] = {
    _T.READY: frozenset({_T.RUNNING, _T.FAILED, _T.CANCELLED}),
    _T.RUNNING: frozenset({_T.READY, _T.WAITING, _T.BLOCKED, _T.DONE, _T.FAILED, _T.CANCELLED}),
    _T.WAITING: frozenset({_T.READY, _T.CANCELLED}),
    _T.BLOCKED: frozenset({_T.READY, _T.CANCELLED}),
    _T.FAILED: frozenset({_T.READY}),
    _T.DONE: frozenset(),
    _T.CANCELLED: frozenset(),
}

#: Finished for the kernel (D41): automatic work never leaves these.
STEP_FINISHED = frozenset({_S.DONE, _S.FAILED, _S.CANCELLED})
#: Nothing and nobody leaves these: derived from the table.
STEP_FINAL = frozenset(status for status, moves in STEP_MOVES.items() if not moves)
STEP_UNFINISHED = frozenset(StepStatus) - STEP_FINISHED
TASK_FINISHED = frozenset({_T.DONE, _T.FAILED, _T.CANCELLED})
TASK_FINAL = frozenset(status for status, moves in TASK_MOVES.items() if not moves)
TASK_UNFINISHED = frozenset(TaskStatus) - TASK_FINISHED


def move_step(current: StepStatus, to: StepStatus) -> StepStatus:
    """Return ``to`` if a step may go there from ``current``; else raise ``IllegalMove``."""
    if to not in STEP_MOVES[current]:
        raise IllegalMove(f"a step cannot go from {current} to {to}")
    return to


def move_task(current: TaskStatus, to: TaskStatus) -> TaskStatus:
    """Return ``to`` if a task may go there from ``current``; else raise ``IllegalMove``."""
    if to not in TASK_MOVES[current]:
        raise IllegalMove(f"a task cannot go from {current} to {to}")
    return to
