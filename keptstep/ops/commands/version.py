"""``keptstep version``."""

from __future__ import annotations

import typer

from keptstep.ops.session import Session, command
from keptstep.ops.streams import write_json


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "version")(version)


def version(session: Session) -> None:
    """Print the version of keptstep and its schema."""
    import keptstep
    from keptstep.models.migrations.runner import HEAD

    if session.json:
        write_json({"version": keptstep.__version__, "schema": HEAD})
    else:
        print(f"keptstep {keptstep.__version__} (schema {HEAD})")
