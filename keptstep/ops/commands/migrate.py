"""``keptstep migrate``."""

from __future__ import annotations

import typer

from keptstep.ops.session import Session, command
from keptstep.ops.streams import write_json


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "migrate")(migrate)


def migrate(session: Session) -> None:
    """Bring the home to this version's schema.

    A home that is not there is made.
    """
    from keptstep.models.errors import HomeNotWritable
    from keptstep.models.migrations.runner import HEAD, check, version_of
    from keptstep.models.stores.clock import HostClock
    from keptstep.models.stores.sql import open_sql_store

    session.log()
    settings = session.settings
    home, database = settings.home, settings.database
    if home.exists() and not home.is_dir():
        raise HomeNotWritable(f"the home {home} is not a folder: choose another with --home")
    check(database, settings.busy_timeout)
    before = version_of(database, settings.busy_timeout)
    open_sql_store(database, clock=HostClock(), busy_timeout=settings.busy_timeout).close()
    if session.json:
        write_json({"home": str(home), "from": before, "to": HEAD})
    elif before == HEAD:
        print(f"{home} is at schema {HEAD} already")
    elif before == 0:
        print(f"made {home} with schema {HEAD}")
    else:
        print(f"migrated {home} from schema {before} to {HEAD}")
