"""``keptstep worker``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.modules import ImportOption
from keptstep.ops.session import Session, command
from keptstep.ops.streams import write_json

if TYPE_CHECKING:
    from keptstep.ops.working import Work
    from keptstep.workers.supervised import Link

ProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        max=256,
        help="Start N worker processes, and each again that dies.",
    ),
]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "worker")(worker)


def worker(
    session: Session, modules: ImportOption = None, processes: ProcessesOption = None
) -> int | None:
    """Work on everything that is due, until stopped.

    Being stopped by Ctrl-C or SIGTERM is a worker's normal end: it gives back what did not
    begin, waits for running steps, and ends with 0.
    """
    from keptstep.ops.supervising import supervise, supervised

    if processes is not None:
        return supervise(session, modules, processes)
    with supervised(session) as link:
        _work(session, modules, link)
    return None


def _work(session: Session, modules: Sequence[str] | None, link: Link | None) -> None:
    from keptstep.ops.supervising import begin
    from keptstep.ops.working import working

    with working(session, modules) as work:
        work.app.start()
        if link is not None:
            begin(link, work.stop, session.settings)
        elif session.json:
            home, identity = str(session.settings.home), work.app.worker
            status = "working"
            write_json({"id": identity, "status": status, "home": home, "pid": os.getpid()})
            sys.stdout.flush()
        session.note(_begun(session, work))
        while not work.stop.asked:
            work.stop.pause(60.0)
    session.note(f"stopped by {work.stop.by}; everything is kept")


def _begun(session: Session, work: Work) -> str:
    home = session.settings.home
    names = ", ".join(sorted(work.known.workflows)) or "none"
    return f"working on {home} (workflows known: {names}); Ctrl-C stops as planned"
