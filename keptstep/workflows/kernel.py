"""The whole judgement of keptstep, as pure functions (R1 to R10, D41).

No clock, no chance, no file, no store: the same arguments give the same answer. Every answer
carries a reason a person can read, and every caller matches all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Block, Decision, Fail, LeaveAlone, Retry, Run
from keptstep.models.ids import StepId
from keptstep.models.records import Attempt, Step
from keptstep.models.states import STEP_FINISHED, StepStatus

__all__ = [
    "Block",
    "CallEnd",
    "Decision",
    "Fail",
    "LeaveAlone",
    "Retry",
    "Run",
    "failure_decision",
    "next_unfinished_step",
    "resume_decision",
    "runnable_steps",
    "verdict_needed",
    "verdict_wait",
]


class CallEnd(StrEnum):
    """How a call ended when it left no result."""

    RAISED = "raised"  #: any exception that says nothing about the world outside
    TIMED_OUT = "timed out"  #: the hard deadline passed
    NOT_SENT = "not sent"  #: surely nothing happened outside
    REFUSED = "refused"  #: the destination said no
    PERMANENT = "permanent"  #: the tool says that trying again cannot help
    UNKEEPABLE = "not keepable"  #: it returned, but what it returned cannot be kept
    NO_INPUT = "no input"  #: its input could not be read or does not fit: it never began


def next_unfinished_step(steps: Iterable[Step]) -> Step | None:
    """Return the first step, in step order, that is not finished (R2, D41)."""
    unfinished = (step for step in steps if step.status not in STEP_FINISHED)
    return min(unfinished, key=lambda step: step.position, default=None)


def runnable_steps(steps: Sequence[Step], now: float) -> list[Step]:
    """Return every step that may run at ``now``, in step order: the parallel form of R2."""
    done = {step.id for step in steps if step.status is StepStatus.DONE}
    return [
        step
        for step in sorted(steps, key=lambda step: step.position)
        if _needs_met(step, done) and isinstance(resume_decision(step, now), Run)
    ]


def verdict_needed(steps: Iterable[Step]) -> Step | None:
    """Return the uncertain step that keeps a task, when nothing else of it can go on by itself.

    ``steps`` are the task's unfinished ones, or all.
    """
    unfinished = [step for step in steps if step.status not in STEP_FINISHED]
    if any(step.status in _MAY_MOVE for step in unfinished):
        return None
    uncertain = (step for step in unfinished if step.status is StepStatus.UNCERTAIN)
    return min(uncertain, key=lambda step: step.position, default=None)


def verdict_wait(
    step: Step, last: Attempt | None, now: float, *, holder_dead: bool = False
) -> float:
    """Return the seconds until a verdict on an uncertain step may be given, 0 for now (D4).

    While the old holder may live it may still act, and what a person saw is then not the last
    word. It cannot when it said itself how its call ended, is proven dead, or when the step's
    deadline passed. ``last`` is the newest attempt.
    """
    said_so = last is not None and last.error is not None
    died = last is not None and last.outcome == "died"
    if last is None or said_so or died or holder_dead:
        return 0.0
    return max(last.started_at + step.deadline - now, 0.0)


def resume_decision(
    step: Step, now: float, *, holder_dead: bool = False, payload_intact: bool = False
) -> Decision:
    """Say what may be done with a step found in the store (R3 to R6, D19, D41).

    ``now`` is the store's time in seconds. ``holder_dead`` is true when the lease's holder is
    proven dead. ``payload_intact`` is true when a payload was marked as persisted under the
    current token and its file still matches its hash.
    """
    match step.status:
        case StepStatus.DONE | StepStatus.FAILED | StepStatus.CANCELLED:
            return LeaveAlone(f"already {step.status}")
        case StepStatus.PENDING:
            return LeaveAlone("a step it needs is not done")
        case StepStatus.WAITING:
            return LeaveAlone("waits for a timer, a signal or a person")
        case StepStatus.UNCERTAIN:
            return Block("started with no result, and it must not repeat: a verdict is needed")
        case StepStatus.READY:
            return _ready_decision(step, now)
        case StepStatus.RUNNING:
            return _running_decision(step, now, holder_dead, payload_intact)


def _ready_decision(step: Step, now: float) -> Decision:
    if step.attempts >= step.max_attempts:
        return Fail(f"all {step.max_attempts} attempts are used up")
    if step.due_at > now:
        return LeaveAlone(f"due in {step.due_at - now:.1f} s")
    return Run(f"ready, attempt {step.attempts + 1} of {step.max_attempts}")


def _running_decision(step: Step, now: float, holder_dead: bool, payload_intact: bool) -> Decision:
    left = (step.lease_until or 0.0) - now
    if left > 0 and not holder_dead:
        held = f"lease held by {step.owner} for {left:.1f} s more, token {step.token}"
        return LeaveAlone(f"running: {held}")
    gone = f"worker {step.owner} died" if holder_dead else f"the lease of {step.owner} ended"
    if step.artifact_id is not None and payload_intact:
        return Run(f"{gone} after its result was kept", roll_forward=True)
    if step.effect is Effect.SIDE_EFFECT:
        return Block(f"{gone}: a side effect was started and no result is kept")
    if step.attempts >= step.max_attempts:
        return Fail(f"{gone} in the last of {step.max_attempts} attempts")
    return Run(f"{gone} in attempt {step.attempts} of {step.max_attempts}, which may be repeated")


def failure_decision(step: Step, end: CallEnd, wait: float | None) -> Retry | Fail | Block:
    """Say what follows an attempt that left no result (D17, D42, D43).

    ``wait`` is the retry policy's answer: seconds until the next attempt, or ``None`` when the
    policy gives up. The durable cap holds whatever the policy says.
    """
    if step.effect is Effect.SIDE_EFFECT and end not in _NOTHING_HAPPENED:
        return Block(f"the call {_TOLD[end]}: whether it acted is not known")
    if end in _FINAL:
        return Fail(f"the call {_TOLD[end]}: trying again cannot help")
    if step.attempts >= step.max_attempts:
        return Fail(f"the call {_TOLD[end]} in the last of {step.max_attempts} attempts")
    if wait is None:
        return Fail(f"the call {_TOLD[end]} and its retry policy gives up")
    return Retry(f"the call {_TOLD[end]} in attempt {step.attempts}", max(wait, 0.0))


_MAY_MOVE = frozenset({StepStatus.READY, StepStatus.RUNNING, StepStatus.WAITING})
_NOTHING_HAPPENED = frozenset({CallEnd.NOT_SENT, CallEnd.REFUSED, CallEnd.NO_INPUT})
_FINAL = frozenset({CallEnd.REFUSED, CallEnd.PERMANENT, CallEnd.UNKEEPABLE, CallEnd.NO_INPUT})
_TOLD = {
    CallEnd.RAISED: "raised",
    CallEnd.TIMED_OUT: "passed its deadline",
    CallEnd.NOT_SENT: "was not sent",
    CallEnd.REFUSED: "was refused",
    CallEnd.PERMANENT: "says it cannot succeed",
    CallEnd.UNKEEPABLE: "returned what cannot be kept",
    CallEnd.NO_INPUT: "could not begin with its input",
}


def _needs_met(step: Step, done: set[StepId]) -> bool:
    return all(need in done for need in step.needs)
