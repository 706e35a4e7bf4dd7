"""``keptstep ls``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.models.records import Task

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
        now = home.store.now()
    if session.json:
        from keptstep.ops.documents import task_document
        from keptstep.ops.streams import write_json

        write_json([task_document(task) for task in tasks])
    elif tasks:
        _print(session, tasks, now)
        if len(tasks) == limit:
            session.note(f"these are the newest {limit}: --limit shows more")
    else:
        session.note("no unfinished tasks" if unfinished else "no tasks yet")


def _print(session: Session, tasks: list[Task], now: float) -> None:
    from keptstep.models.ids import short
    from keptstep.ops.looks import about, status_text
    from keptstep.ops.terminal import print_lines, table
    from keptstep.ops.words import distance

    rows = [
        (
            short(task.id),
            status_text(task.status),
            distance(task.created_at, now),
            task.workflow,
            about(task),
        )
        for task in tasks
    ]
    print_lines(session.out, table(("ID", "STATUS", "BEGUN", "WORKFLOW", "ABOUT"), rows))
