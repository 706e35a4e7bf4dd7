"""Which workflows and tools this process knows: its own, and those of modules named to it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from keptstep.models.errors import BadInput
from keptstep.ops.session import Session

ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        envvar="KEPTSTEP_IMPORT",
        help="Import a module that defines workflows and tools; may be given several times.",
    ),
]

#: What comes with keptstep.
_OWN = ("keptstep.workers.builtin", "keptstep.workers.research", "keptstep.workflows.research")


def import_modules(session: Session, names: Sequence[str] | None) -> None:
    """Make workflows and tools known; a module may also stand in the current folder.

    Raises ``BadInput`` for a module that is not there or does not load.
    """
    session.modules = tuple(names or ())
    for name in _OWN:
        importlib.import_module(name)
    if names and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    for name in names or ():
        _import(name)


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise BadInput(f"the module {name} needs {error.name}, which is not there") from error
        raise BadInput(f"there is no module {name}, here or installed") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind = type(error).__name__
        raise BadInput(
            f"the module {name} could not be loaded ({kind}): python -c 'import {name}' shows why"
        ) from error
