"""``keptstep explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.modules import ImportOption
from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.ops.deciding import Explained


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "explain")(explain)


def explain(
    session: Session,
    which: Annotated[str, typer.Argument(metavar="STEP|TASK")],
    modules: ImportOption = None,
) -> None:
    """Say why a step or task runs or stands still.

    Tells what would be done with it just now, and on which facts that rests.

    A step may also be named TASK/NAME. This is the decision recovery itself would take.
    """
    from keptstep.models.ids import StepId, TaskId
    from keptstep.ops.deciding import Facts
    from keptstep.ops.explained_step import explain_step
    from keptstep.ops.explained_task import explain_task
    from keptstep.ops.finding import find
    from keptstep.ops.homes import reading
    from keptstep.ops.modules import import_modules

    session.log()
    import_modules(session, modules)
    with reading(session.settings) as home:
        found = find(home.store, which, "step", "task")
        facts = Facts(home)
        if found.kind == "step":
            explained = explain_step(session, facts, home.store.step(StepId(found.id)))
        else:
            explained = explain_task(session, facts, home.store.task(TaskId(found.id)))
    if session.json:
        from keptstep.ops.streams import write_json

        write_json(explained.document)
    else:
        _print(session, explained)


def _print(session: Session, explained: Explained) -> None:
    from rich.text import Text

    from keptstep.ops.inert import inert_line
    from keptstep.ops.looks import facts, next_lines
    from keptstep.ops.terminal import print_prose

    lines = [Text(inert_line(explained.title), style="bold")]
    lines.append(Text(inert_line(f"{explained.decision}: {explained.reason}")))
    lines += [Text(), *facts(explained.facts)]
    if explained.also:
        lines += [Text(), *(Text(inert_line(each)) for each in explained.also)]
    print_prose(session.out, lines)
    for line in next_lines(explained.next):
        session.out.print(line, soft_wrap=True)  # to be copied: never broken
