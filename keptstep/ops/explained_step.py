"""A step explained: the kernel's decision in words, with every fact it rests on (R3 to R6)."""

from __future__ import annotations

from collections.abc import Iterator

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.ids import full, short
from keptstep.models.records import Attempt, Step, Task
from keptstep.models.states import STEP_UNFINISHED, TASK_FINISHED, StepStatus
from keptstep.ops.advice import about_step
from keptstep.ops.deciding import IMPORT, MOST, NO_WORKER, Explained, Facts, decided
from keptstep.ops.documents import attempt_document, step_document
from keptstep.ops.looks import held
from keptstep.ops.reasons import error_line
from keptstep.ops.session import Session
from keptstep.ops.standing import unknown_tool, unsettled
from keptstep.ops.words import clock, distance, span
from keptstep.workflows.verdicts import seconds_left

_EFFECTS = {
    Effect.NONE: "none: it only reads and may be called again",
    Effect.IDEMPOTENT: "idempotent: it may be called again with the same key",
    Effect.SIDE_EFFECT: "side effect: it must not be repeated without a person's word",
}
_CLASSES = {
    ArtifactClass.EXTERNAL_FILE: "1, a file that is reused while it is there",
    ArtifactClass.IDEMPOTENT_FETCH: "2, a fetch that may be done again",
    ArtifactClass.SNAPSHOT: "3, a snapshot that is never asked for again",
    ArtifactClass.RENDER: "4, made from its sources",
}


def explain_step(session: Session, facts: Facts, step: Step) -> Explained:
    """Explain one step."""
    task = facts.store.task(step.task_id)
    attempts = facts.store.attempts(step.id)
    decision = facts.decision(step)
    name, words = decided(decision)
    also = list(_obstacles(facts, step, task))
    advice = list(about_step(session, step))
    document = {
        "id": full(step.id),
        "status": str(step.status),
        "kind": "step",
        "decision": name,
        "reason": decision.reason,
        "holder_dead": facts.dead(step.owner),
        "payload_intact": facts.intact(step),
        "tool_known": step.tool in facts.known.tools,
        "living_workers": facts.workers,
        "obstacles": also,
        "step": step_document(step),
        "attempts": [attempt_document(attempt) for attempt in attempts],
        "next": [each.command for each in advice],
    }
    return Explained(
        title=f"step {step.name} ({short(step.id)}) of task {short(task.id)}: {step.status}",
        decision=words,
        reason=decision.reason,
        facts=[*_step_facts(facts, step), *_attempt_facts(attempts, facts.now)],
        document=document,
        also=also,
        next=advice,
    )


def _step_facts(facts: Facts, step: Step) -> Iterator[tuple[str, str | None]]:
    now = facts.now
    yield "tool", step.tool
    yield "effect", _EFFECTS[step.effect]
    yield "class", _CLASSES[step.artifact_class]
    if step.effect is not Effect.NONE:
        yield "key", f"{step.idempotency_key}, to be found at the provider"
    yield "attempts", f"{step.attempts} of {step.max_attempts}, {span(step.deadline)} each at most"
    yield "token", str(step.token)
    yield "held by", held(step.owner, step.lease_until, now)
    yield "holder", facts.life(step.owner)
    if step.status is StepStatus.READY:
        yield (
            "due",
            "now"
            if step.due_at <= now
            else f"{clock(step.due_at, now)}, {distance(step.due_at, now)}",
        )
    if step.status is StepStatus.RUNNING and step.artifact_id is not None:
        yield "kept", "its result, whole" if facts.intact(step) else "its result, but damaged"
    yield "needs", ", ".join(facts.store.step(need).name for need in step.needs[:MOST])
    yield "reason", step.reason
    yield "last error", step.error.kind if step.error is not None else None
    yield "it says", error_line(facts.store, facts.home.artifacts, step.error)


def _attempt_facts(attempts: list[Attempt], now: float) -> Iterator[tuple[str, str | None]]:
    for attempt in attempts[-MOST:]:
        end = attempt.ended_at
        took = f" after {span(end - attempt.started_at)}" if end is not None else ""
        error = f" ({attempt.error.kind})" if attempt.error is not None else ""
        how = f"{attempt.outcome or 'running'}{took}{error}"
        yield f"try {attempt.n}", f"{clock(attempt.started_at, now)} {how}, by {attempt.worker}"


def _obstacles(facts: Facts, step: Step, task: Task) -> Iterator[str]:
    """Yield what keeps a step back beside its own row."""
    if step.status is StepStatus.UNCERTAIN:
        yield unsettled(step)
        yield from _too_early(facts, step)
    if step.status in STEP_UNFINISHED and step.tool not in facts.known.tools:
        yield f"{unknown_tool(step)}: {IMPORT}"
    if task.paused_at is not None:
        yield "its task is paused: keptstep unpause lets it go on"
    if step.status is StepStatus.READY and not facts.workers:
        yield NO_WORKER
    if step.status in STEP_UNFINISHED and task.status in TASK_FINISHED:
        yield f"its task is {task.status}: nothing of it runs any more"


def _too_early(facts: Facts, step: Step) -> Iterator[str]:
    left = seconds_left(facts.store, step, facts.dead)
    if left > 0:
        yield f"its old worker may still be at it: no verdict for another {span(left)}"


def _moment(seconds: float, now: float) -> str:
    return f"{clock(seconds, now)}, {distance(seconds, now)}"
