"""``keptstep show``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from rich.text import Text

    from keptstep.models.records import Step, Task
    from keptstep.ops.homes import Reading

_MOST = 40


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "show")(show)


def show(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK")],
    every: Annotated[
        bool, typer.Option("--all", "-a", help="Every step, however many there are.")
    ] = False,
) -> None:
    """Show a task, its steps, and what to do next."""
    from keptstep.ops.finding import find_task
    from keptstep.ops.homes import reading

    session.log()
    with reading(session.settings) as home:
        task_id = find_task(home.store, task)
        found, steps = home.store.task(task_id), home.store.steps(task_id)
        if session.json:
            _print_json(session, home, found, steps)
        else:
            _print(session, home, found, steps, every)


def _print_json(session: Session, home: Reading, task: Task, steps: Sequence[Step]) -> None:
    from keptstep.ops.advice import about_task
    from keptstep.ops.documents import artifact_document, step_document, task_document
    from keptstep.ops.streams import write_json
    from keptstep.workflows.kernel import verdict_needed

    result = home.store.artifact(task.artifact_id) if task.artifact_id is not None else None
    write_json(
        {
            **task_document(task, verdict_needed(steps)),
            "result": artifact_document(result) if result is not None else None,
            "steps": [step_document(step) for step in steps],
            "next": [advice.command for advice in about_task(session, task, steps)],
        }
    )


def _print(
    session: Session, home: Reading, task: Task, steps: Sequence[Step], every: bool
) -> None:
    from rich.text import Text

    from keptstep.ops.advice import about_task
    from keptstep.ops.looks import facts, next_lines
    from keptstep.ops.terminal import print_lines, print_prose

    now = home.store.now()
    out = session.out
    print_lines(out, [_title(task, steps)])
    print_prose(out, facts(_facts(home, task, now)))
    if steps:
        print_lines(out, [Text(), *_step_lines(steps, now, every)])
    troubles = list(_troubles(home, steps))
    print_prose(out, [Text(), *troubles] if troubles else [])
    for line in next_lines(about_task(session, task, steps)):
        out.print(line, soft_wrap=True)  # to be copied: never broken


def _title(task: Task, steps: Sequence[Step]) -> Text:
    from rich.text import Text

    from keptstep.models.ids import short
    from keptstep.ops.looks import status_text
    from keptstep.workflows.kernel import verdict_needed

    status = status_text(task.status, verdict_needed(steps))
    return Text(f"task {short(task.id)}  ").append_text(status)


def _facts(home: Reading, task: Task, now: float) -> Iterator[tuple[str, str | None]]:
    from keptstep.models.ids import full
    from keptstep.ops.looks import about, held
    from keptstep.ops.reasons import error_line
    from keptstep.ops.words import clock, distance, size, span

    yield "about", about(task)
    yield "workflow", task.workflow
    yield "begun", f"{clock(task.created_at, now)}, {distance(task.created_at, now)}"
    if task.ended_at is not None:
        lasted = span(task.ended_at - task.created_at)
        yield "ended", f"{clock(task.ended_at, now)}, after {lasted}"
    yield "held by", held(task.owner, task.lease_until, now)
    yield "key", task.key
    yield "id", full(task.id)
    yield "conversation", full(task.conversation_id)
    if task.artifact_id is not None:
        ref = home.store.artifact(task.artifact_id)
        yield "result", f"{ref.media_type}, {size(ref.size)}"
    yield "reason", task.reason
    yield "error", error_line(home.store, home.artifacts, task.error)


def _step_lines(steps: Sequence[Step], now: float, every: bool) -> Iterator[Text]:
    from rich.text import Text

    from keptstep.models.ids import short
    from keptstep.models.states import StepStatus
    from keptstep.ops.looks import status_text
    from keptstep.ops.terminal import table
    from keptstep.ops.words import plural

    tally = Counter(str(step.status) for step in steps)
    parts = ", ".join(f"{count} {status}" for status, count in tally.items())
    yield Text(f"{plural(len(steps), 'step')}: {parts}")
    shown = list(steps)
    if not every and len(steps) > _MOST:
        open_ones = [step for step in steps if step.status is not StepStatus.DONE]
        shown = open_ones[:_MOST]
    rows = [
        (
            f"  {short(step.id)}",
            status_text(step.status),
            f"{step.attempts}/{step.max_attempts}",
            step.name,
            _remark(step, now),
        )
        for step in shown
    ]
    if rows:
        yield from table(("  ID", "STATUS", "TRIES", "NAME", ""), rows)
    if len(shown) < len(steps):
        yield Text(f"  {len(steps) - len(shown)} more with --all", style="dim")


def _remark(step: Step, now: float) -> str:
    from keptstep.models.states import StepStatus
    from keptstep.ops.inert import inert_line
    from keptstep.ops.words import distance, span

    if step.status is StepStatus.RUNNING and step.started_at is not None:
        return f"for {span(now - step.started_at)}"
    if step.status is StepStatus.READY and step.due_at > now:
        return f"due {distance(step.due_at, now)}"
    return inert_line(step.reason or "")


def _troubles(home: Reading, steps: Sequence[Step]) -> Iterator[Text]:
    """Yield what the failed and uncertain steps say, in full lines."""
    from rich.text import Text

    from keptstep.models.states import StepStatus
    from keptstep.ops.inert import inert_line
    from keptstep.ops.reasons import error_line

    bad = [step for step in steps if step.status in (StepStatus.FAILED, StepStatus.UNCERTAIN)]
    for step in bad[:_MOST]:
        line = Text(f"{step.status}: ", style="bold red").append(
            f"step {inert_line(step.name)}: {inert_line(step.reason or '')}", style="default"
        )
        yield line
        said = error_line(home.store, home.artifacts, step.error)
        if said:
            yield Text(f"  {said}")
