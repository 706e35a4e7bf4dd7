"""``keptstep retry``."""

from __future__ import annotations

from typing import Annotated

import typer

from keptstep.ops.deciders import ByOption, WhyOption, confirm
from keptstep.ops.session import Session, command


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "retry")(retry)


def retry(
    session: Session,
    step: Annotated[str, typer.Argument(metavar="STEP")],
    by: ByOption,
    why: WhyOption,
) -> None:
    """Set a step that failed for good going again.

    A dead letter gets fresh attempts. A failed task is reopened with it. Name and reason
    stand in the task's log.
    """
    from keptstep.ops.finding import find_step
    from keptstep.ops.homes import reading
    from keptstep.ops.people import checked_person

    session.log()
    by, why = checked_person(by, why)
    with reading(session.settings) as home:
        found = home.store.requeue(find_step(home.store, step), by, why).step
    confirm(session, found)
