"""``keptstep worker``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from keptstep.ops.modules import ImportOption
from keptstep.ops.session import Session, command
from keptstep.ops.streams import write_json

if TYPE_CHECKING:
    from keptstep.ops.working import Work


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "worker")(worker)


def worker(session: Session, modules: ImportOption = None) -> None:
    """Work on everything that is due, until stopped.

    Being stopped by Ctrl-C or SIGTERM is a worker's normal end: it gives back what did not
    begin, waits for running steps, and ends with 0.
    """
    import sys

    from keptstep.ops.working import working

    with working(session, modules) as work:
        work.app.start()
        if session.json:
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
