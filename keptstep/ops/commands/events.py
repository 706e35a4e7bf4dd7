"""``keptstep events``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from rich.text import Text

    from keptstep.models.events import Event
    from keptstep.models.ids import TaskId
    from keptstep.ops.stopping import Stop
    from keptstep.workflows.ports import TaskStore

_PAGE = 1000
_EVERY = 0.2  # seconds between two looks for news


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "events")(events)


def events(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK")],
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="N", help="Only events numbered above N.")
    ] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more until the task is finished.")
    ] = False,
) -> int:
    """Print the log of a task, numbered without a gap."""
    from keptstep.ops.finding import find_task
    from keptstep.ops.homes import reading
    from keptstep.ops.stopping import stoppable

    session.log()
    # A signal is looked for between two events, so that what is printed stays whole.
    with stoppable() as stop, reading(session.settings) as home:
        task_id = find_task(home.store, task)
        found = _events(home.store, task_id, after, stop, follow=follow)
        if session.json:
            _print_json(found)
        else:
            _print(session, home.store, task_id, found)
        return int(stop.code) if stop.asked else 0


def _events(
    store: TaskStore, task_id: TaskId, after: int, stop: Stop, *, follow: bool
) -> Iterator[Event]:
    """Yield events page by page, and with ``follow`` what comes until the task is finished."""
    from keptstep.models.states import TASK_FINISHED

    while not stop.asked:
        finished = store.task(task_id).status in TASK_FINISHED
        while page := store.events(task_id, after, _PAGE):
            for event in page:
                if stop.asked:
                    return
                yield event
            after = page[-1].seq
        if finished or not follow:
            return
        stop.pause(_EVERY)


def _print_json(found: Iterator[Event]) -> None:
    """Print one array, a line for each event as it comes."""
    from keptstep.ops.documents import event_document

    lead = "["
    for event in found:
        sys.stdout.write(f"{lead}{json.dumps(event_document(event))}\n")
        sys.stdout.flush()
        lead = ","
    sys.stdout.write("[]\n" if lead == "[" else "]\n")


def _print(session: Session, store: TaskStore, task_id: TaskId, found: Iterator[Event]) -> None:
    from keptstep.ops.terminal import print_lines

    names = {step.id: step.name for step in store.steps(task_id)}
    for event in found:
        if event.step_id is not None and event.step_id not in names:
            names[event.step_id] = store.step(event.step_id).name
        name = "" if event.step_id is None else names[event.step_id]
        print_lines(session.out, [_line(event, name)])
        sys.stdout.flush()


def _line(event: Event, name: str) -> Text:
    from datetime import datetime

    from rich.text import Text

    from keptstep.ops.inert import inert_line

    moment = datetime.fromtimestamp(event.at).astimezone()
    line = Text(f"{event.seq:>5}  ", style="dim")
    line.append(f"{moment:%Y-%m-%d %H:%M:%S}  ", style="dim")
    line.append(f"{event.kind:<22}", style="default")
    line.append(f"  {inert_line(name)}" if name else "", style="bold")
    facts = dict(event.data)
    if event.token is not None:
        facts["token"] = event.token
    facts.pop("name", None)
    for label, value in facts.items():
        line.append(f"  {inert_line(label)}=", style="dim")
        line.append(inert_line(_shortened(value)), style="default")
    return line


def _shortened(value: object) -> str:
    """Return a fact for a person: hashes and ids by their first 12 digits."""
    text = value if isinstance(value, str) else json.dumps(value)
    is_hex = len(text) in (32, 64) and set(text) <= set("0123456789abcdef")
    return text[:12] + "…" if is_hex else text
