"""``keptstep pause`` and ``keptstep unpause``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.deciders import ByOption, WhyOption
from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.models.ids import TaskId
    from keptstep.models.records import Task
    from keptstep.workflows.ports import TaskStore

TaskArgument = Annotated[str, typer.Argument(metavar="TASK")]


def add(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "pause")(pause)
    command(app, "unpause")(unpause)


def pause(session: Session, task: TaskArgument, by: ByOption, why: WhyOption) -> None:
    """Let nothing of a task begin; what runs may end.

    It stays so, over restarts too, until unpause. Name and reason stand in the task's log.
    """
    found = _change(session, task, lambda store, which: store.pause_task(which, *_who(by, why)))
    _tell(session, found, "is paused: what runs may end, nothing begins")


def unpause(session: Session, task: TaskArgument, by: ByOption, why: WhyOption) -> None:
    """Let a paused task go on where it was."""
    found = _change(session, task, lambda store, which: store.unpause_task(which, *_who(by, why)))
    _tell(session, found, f"is {found.status} and goes on")


def _who(by: str, why: str) -> tuple[str, str]:
    from keptstep.ops.people import checked_person

    return checked_person(by, why)


def _change(session: Session, task: str, change: Callable[[TaskStore, TaskId], Task]) -> Task:
    from keptstep.ops.finding import find_task
    from keptstep.ops.homes import reading

    session.log()
    with reading(session.settings) as home:
        return change(home.store, find_task(home.store, task))


def _tell(session: Session, task: Task, what: str) -> None:
    from keptstep.models.ids import short
    from keptstep.ops.documents import task_document
    from keptstep.ops.streams import write_json

    if session.json:
        write_json(task_document(task))
    else:
        print(f"task {short(task.id)} {what}")
