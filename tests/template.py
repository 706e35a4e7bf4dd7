"""A migrated, empty database to copy: making one anew takes longer than most tests."""

import tempfile
from functools import cache
from pathlib import Path

from keptstep.models.migrations.runner import migrate


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "keptstep.db")
        migrate(database)
        return database.read_bytes()


def new_database(database: Path) -> Path:
    """Put an empty database of the present schema at ``database``; returns it."""
    database.parent.mkdir(parents=True, exist_ok=True)
    database.write_bytes(_template())
    return database
