"""``keptstep worker --processes N``: the supervisor's side, and that of the workers it starts."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import typer

from keptstep.config import Settings
from keptstep.models.errors import KeptstepError, StoreBusy
from keptstep.ops.endings import Ending
from keptstep.ops.exits import ExitCode
from keptstep.ops.session import Session
from keptstep.ops.stopping import SIGNALS, Stop
from keptstep.ops.streams import write_json
from keptstep.ops.words import plural, span
from keptstep.workers.supervised import Link, Refusal
from keptstep.workers.supervisor import CannotWork, Supervisor

log = logging.getLogger(__name__)


def patience(settings: Settings) -> float:
    """Return the seconds a worker gets to stop as planned: the grace for functions, for steps and
    for the hook that is told at night, and time to write down what it gives back."""
    return 3 * settings.grace + 5.0


def supervise(session: Session, modules: Sequence[str] | None, processes: int) -> int:
    """Keep ``processes`` workers at work until stopped; return the exit code."""
    session.log()
    session.modules = tuple(modules or ())
    settings = session.settings
    supervisor = Supervisor(_command(session), processes, patience=patience(settings))

    def begun() -> None:
        if session.json:
            pids = {"pid": os.getpid(), "pids": supervisor.pids}
            write_json({"id": None, "status": "working", "home": str(settings.home), **pids})
            sys.stdout.flush()
        which = ", ".join(map(str, supervisor.pids))
        workers = f"{plural(processes, 'worker')} (pids {which})"
        session.note(f"working on {settings.home} with {workers}; Ctrl-C stops as planned")

    def stopping() -> None:
        limit = span(patience(settings))
        with suppress(OSError):  # nobody reads stderr any more; the workers get their time
            session.note(f"stopping: the workers get {limit}; Ctrl-C again stops at once")

    try:
        stopped = supervisor.run(begun, stopping)
    except CannotWork as error:
        raise _ending(error.refusal) from None
    code, by = SIGNALS[stopped.by]
    if stopped.at_once:
        session.note("stopped at once; what is kept stays kept")
        return code
    session.note(f"stopped by {by}; everything is kept")
    return ExitCode.OK


def _command(session: Session) -> list[str]:
    """Return the command line of one worker, which is this process's own but for the number."""
    # A module of the current folder must not come before an installed one of its name, unless
    # that is how this process found keptstep.
    safe = [] if sys.path[0] in ("", os.getcwd()) else ["-P"]
    flags = [*(["--verbose"] if session.verbose else []), *(["--debug"] if session.debug else [])]
    imports = [word for name in session.modules for word in ("--import", name)]
    home = str(session.settings.home)
    return [
        sys.executable, *safe, "-m", "keptstep", "worker", "--home", home, *flags, *imports
    ]  # fmt: skip


def _ending(refusal: Refusal) -> Ending:
    code = ExitCode(refusal.code)
    return Ending(code, refusal.kind, refusal.message, refusal.hints)


@contextmanager
def supervised(session: Session) -> Iterator[Link | None]:
    """Be a supervisor's worker if this process is one: it speaks to people for all of them."""
    link = Link.adopt()
    if link is None:
        yield None
        return
    session.quiet = True
    try:
        yield link
    except (Ending, KeptstepError) as error:
        ending = error if isinstance(error, Ending) else Ending.of(error)
        lasting = isinstance(error, KeptstepError) and not isinstance(error, StoreBusy)
        told = Refusal(int(ending.code), ending.kind, ending.message, tuple(ending.hints), lasting)
        if not link.refuse(told):
            raise
        raise typer.Exit(int(ending.code)) from None


def begin(link: Link, stop: Stop, settings: Settings) -> None:
    """Tell the supervisor that the work begins, and stop as planned should it be gone."""

    def gone() -> None:
        log.warning("the supervisor of worker process %d is gone: stopping", os.getpid())
        stop.ask("the supervisor's end")

    link.working(gone, within=patience(settings))
