"""How a person signs a decision on the command line, and how it is confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from keptstep.models.records import Step
    from keptstep.ops.session import Session

ByOption = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides this.")]
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="Why, for the log.")]


def confirm(session: Session, step: Step) -> None:
    """Say where a step stands after a decision, and who goes on with it."""
    from keptstep.models.ids import short
    from keptstep.ops.documents import step_document
    from keptstep.ops.streams import write_json

    if session.json:
        write_json(step_document(step))
        return
    print(f"step {step.name} ({short(step.id)}) is {step.status} now")
    resume = session.command("resume", short(step.task_id))
    session.note(f"a running worker goes on, or go on here: {resume}")
