"""A task explained: where its function stands, and each of its unfinished steps."""

from __future__ import annotations

from collections.abc import Iterator

from keptstep.models.ids import full, short
from keptstep.models.records import Step, Task
from keptstep.models.states import STEP_UNFINISHED, TASK_FINISHED, StepStatus, TaskStatus
from keptstep.ops.advice import about_task
from keptstep.ops.deciding import IMPORT, MOST, NO_WORKER, Explained, Facts, decided
from keptstep.ops.documents import task_document
from keptstep.ops.looks import about, held
from keptstep.ops.reasons import error_line
from keptstep.ops.session import Session
from keptstep.ops.standing import unknown_tool, unknown_workflow
from keptstep.ops.words import distance, plural
from keptstep.workflows.kernel import next_unfinished_step, verdict_needed


def explain_task(session: Session, facts: Facts, task: Task) -> Explained:
    """Explain one task by its advance and by each of its unfinished steps."""
    steps = facts.store.steps(task.id)
    unfinished = [step for step in steps if step.status in STEP_UNFINISHED]
    decisions = [(step, facts.decision(step)) for step in unfinished]
    upcoming = next_unfinished_step(steps)
    words, reason = _task_words(facts, task, len(unfinished))
    advice = about_task(session, task, steps)
    also = [
        f"step {step.name} ({short(step.id)}): {decided(decision)[1]}: {decision.reason}"
        for step, decision in decisions[:MOST]
    ]
    if len(decisions) > MOST:
        also.append(f"and {plural(len(decisions) - MOST, 'unfinished step')} more")
    obstacles = list(_obstacles(facts, task, unfinished))
    document = {
        "id": full(task.id),
        "status": str(task.status),
        "kind": "task",
        "decision": words,
        "reason": reason,
        "holder_dead": facts.dead(task.owner),
        "workflow_known": task.workflow in facts.known.workflows,
        "living_workers": facts.workers,
        "obstacles": obstacles,
        "next_unfinished_step": full(upcoming.id) if upcoming is not None else None,
        "task": task_document(task, verdict_needed(unfinished)),
        "steps": [
            {
                "id": full(step.id),
                "status": str(step.status),
                "name": step.name,
                "decision": decided(decision)[0],
                "reason": decision.reason,
            }
            for step, decision in decisions
        ],
        "next": [each.command for each in advice],
    }
    return Explained(
        title=f"task {short(task.id)}: {task.status}",
        decision=words.replace("_", " "),
        reason=reason,
        facts=list(_task_facts(facts, task, steps)),
        document=document,
        also=[*also, *obstacles],
        next=advice,
    )


def _task_words(facts: Facts, task: Task, unfinished: int) -> tuple[str, str]:
    """Return what comes next for the task's function, and why."""
    match task.status:
        case TaskStatus.READY if task.due_at > facts.now:
            return "wait", f"its function is entered again {distance(task.due_at, facts.now)}"
        case TaskStatus.READY:
            return "run", f"ready, advance {task.attempts + 1} of {task.max_attempts}"
        case TaskStatus.RUNNING:
            return _holder_words(facts, task)
        case TaskStatus.WAITING:
            return "wait", f"its function waits for {plural(unfinished, 'unfinished step')}"
        case TaskStatus.BLOCKED:
            return "block", task.reason or "a person has to decide"
        case _:
            return "leave_alone", f"already {task.status}"


def _holder_words(facts: Facts, task: Task) -> tuple[str, str]:
    if facts.dead(task.owner):
        return "run", f"worker {task.owner} died: the next sweep takes the task over"
    if (task.lease_until or 0.0) <= facts.now:
        return "run", f"the lease of {task.owner} ended: the next sweep takes the task over"
    return "leave_alone", f"worker {task.owner} holds its function in memory"


def _obstacles(facts: Facts, task: Task, unfinished: list[Step]) -> Iterator[str]:
    """Yield what keeps the task back beside its own row."""
    if task.status in TASK_FINISHED or task.status is TaskStatus.BLOCKED:
        return
    if task.paused_at is not None:
        yield f"it is paused {distance(task.paused_at, facts.now)}: keptstep unpause lets it go on"
    if task.workflow not in facts.known.workflows:
        yield f"{unknown_workflow(task)}: {IMPORT}"
    for step in unfinished[:MOST]:
        if step.tool not in facts.known.tools:
            yield f"{unknown_tool(step)}: {IMPORT}"
    if not facts.workers:
        yield NO_WORKER


def _task_facts(facts: Facts, task: Task, steps: list[Step]) -> Iterator[tuple[str, str | None]]:
    done = sum(step.status is StepStatus.DONE for step in steps)
    yield "about", about(task)
    yield "workflow", task.workflow
    yield "steps", f"{done} of {len(steps)} known so far are done"
    yield "advances", f"{task.attempts} of {task.max_attempts} since it last got on"
    yield "token", str(task.token)
    yield "held by", held(task.owner, task.lease_until, facts.now)
    yield "holder", facts.life(task.owner)
    yield "reason", task.reason
    yield "last error", task.error.kind if task.error is not None else None
    yield "it says", error_line(facts.store, facts.home.artifacts, task.error)
