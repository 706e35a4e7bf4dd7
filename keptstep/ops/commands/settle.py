"""``keptstep settle``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.deciders import ByOption, WhyOption, confirm
from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.models.decisions import Verdict
    from keptstep.ops.homes import Reading
    from keptstep.workflows.verdicts import Evidence


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "settle")(settle)


def settle(  # noqa: PLR0913, PLR0917 - one parameter for each option
    session: Session,
    step: Annotated[str, typer.Argument(metavar="STEP")],
    by: ByOption,
    why: WhyOption,
    happened: Annotated[bool, typer.Option("--happened", help="It happened: it is done.")] = False,
    did_not_happen: Annotated[
        bool, typer.Option("--did-not-happen", help="It did not: it may run again.")
    ] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give it up as failed.")] = False,
    evidence: Annotated[
        str | None,
        typer.Option(metavar="FILE|ARTIFACT", help="With --happened: what becomes its result."),
    ] = None,
) -> None:
    """Give the verdict on an uncertain step: did it happen or not?

    Refused while the worker that began it may still be at it. Name and reason stand in the
    task's log. A worker goes on with the task at once.
    """
    from keptstep.models.mint import new_id
    from keptstep.ops.finding import find_step
    from keptstep.ops.homes import reading
    from keptstep.ops.people import checked_person
    from keptstep.workers.liveness import proven_dead
    from keptstep.workflows.verdicts import Verdicts

    session.log()
    by, why = checked_person(by, why)
    verdict = _verdict(happened, did_not_happen, abandon, evidence)
    locks = session.settings.worker_locks
    with reading(session.settings) as home:
        verdicts = Verdicts(
            home.store, home.artifacts, new_id, lambda owner: proven_dead(locks, owner)
        )
        shown = None if evidence is None else _evidence(home, evidence)
        found = verdicts.settle(find_step(home.store, step), verdict, by, why, shown).step
    confirm(session, found)


def _verdict(happened: bool, did_not_happen: bool, abandon: bool, evidence: str | None) -> Verdict:
    from keptstep.models.decisions import Verdict
    from keptstep.models.errors import BadInput

    given = {
        Verdict.HAPPENED: happened,
        Verdict.DID_NOT_HAPPEN: did_not_happen,
        Verdict.ABANDON: abandon,
    }
    chosen = [verdict for verdict, wanted in given.items() if wanted]
    if len(chosen) != 1:
        raise BadInput("a verdict is one of --happened, --did-not-happen and --abandon")
    if evidence is not None and not happened:
        raise BadInput("--evidence goes with --happened: it becomes the step's result")
    return chosen[0]


def _evidence(home: Reading, given: str) -> Evidence:
    """Return a file's content, or the artifact that is meant where there is no such file."""
    from keptstep.models.errors import BadInput
    from keptstep.models.ids import is_fragment
    from keptstep.ops.finding import find_result
    from keptstep.workflows.verdicts import Evidence

    path = Path(given)
    if not path.exists() and is_fragment(given):
        return Evidence(kept=home.store.artifact(find_result(home.store, given)))
    try:
        return Evidence(_value(path, path.read_bytes()))
    except OSError as error:
        raise BadInput(f"--evidence {given} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"--evidence {given} does not hold what its name says: mend it") from None


def _value(path: Path, data: bytes) -> object:
    """Return what the tool would have returned: a JSON value, a text, or else bytes."""
    import json

    match path.suffix.lower():
        case ".json":
            return json.loads(data)
        case ".txt" | ".md":
            return data.decode()
        case _:
            return data
