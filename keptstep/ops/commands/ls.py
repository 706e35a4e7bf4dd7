"""``keptstep ls``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.models.ids import TaskId
    from keptstep.models.records import Step, Task
    from keptstep.workflows.ports import TaskStore

_LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]
_UnfinishedOption = Annotated[
    bool, typer.Option("--unfinished", "-u", help="Only those that are not finished.")
]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "ls")(ls)


def ls(session: Session, unfinished: _UnfinishedOption = False, limit: _LimitOption = 50) -> None:
    """List tasks, the newest first."""
    from keptstep.ops.homes import reading

    session.log()
    with reading(session.settings) as home:
        tasks = home.store.tasks(limit, unfinished=unfinished)
        verdicts = {task.id: _verdict_needed(home.store, task) for task in tasks}
        now = home.store.now()
    if session.json:
        from keptstep.ops.documents import task_document
        from keptstep.ops.streams import write_json

        write_json([task_document(task, verdicts[task.id]) for task in tasks])
    elif tasks:
        _print(session, tasks, verdicts, now)
        if len(tasks) == limit:
            session.note(f"these are the newest {limit}: --limit shows more")
    else:
        session.note("no unfinished tasks" if unfinished else "no tasks yet")


def _verdict_needed(store: TaskStore, task: Task) -> Step | None:
    from keptstep.models.states import TASK_UNFINISHED
    from keptstep.workflows.kernel import verdict_needed

    return verdict_needed(store.unfinished(task.id)) if task.status in TASK_UNFINISHED else None


def _print(
    session: Session, tasks: list[Task], verdicts: dict[TaskId, Step | None], now: float
) -> None:
    from keptstep.models.ids import short
    from keptstep.ops.looks import about, status_text
    from keptstep.ops.terminal import print_lines, table
    from keptstep.ops.words import distance

    rows = [
        (
            short(task.id),
            status_text(task.status, verdicts[task.id]),
            distance(task.created_at, now),
            task.workflow,
            about(task),
        )
        for task in tasks
    ]
    print_lines(session.out, table(("ID", "STATUS", "BEGUN", "WORKFLOW", "ABOUT"), rows))
