"""Bring a database to this version's schema, or refuse before a byte is written (D40)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from keptstep.models.errors import SchemaNewer, StoreDamaged, StoreError

#: The newest migration, and the number kept in the file's header (``PRAGMA user_version``).
HEAD = 1

_SCRIPTS = Path(__file__).parent


def version_of(database: Path, busy_timeout: float) -> int:
    """Return the schema's number, 0 for a new file; opens it read-only and writes nothing.

    Raises ``StoreDamaged`` when the file is no SQLite database, and for a database with tables
    that are not ours.
    """
    if not database.exists() or database.stat().st_size == 0:
        return 0
    try:
        with _read_only(database, busy_timeout) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            foreign = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise StoreDamaged(
            f"{database} cannot be read as a database ({error}): restore it from a backup, or "
            "move it away to begin anew"
        ) from None
    if version == 0 and foreign:
        raise StoreError(f"{database} is a database of another program: choose another --home")
    return version


def check(database: Path, busy_timeout: float = 10.0) -> bool:
    """Return whether the database is at this version; raises ``SchemaNewer``."""
    version = version_of(database, busy_timeout)
    if version > HEAD:
        raise SchemaNewer(
            f"{database} was written by a newer keptstep (schema {version}, this one knows "
            f"{HEAD}): install the newer one again; nothing was changed"
        )
    return version == HEAD


def migrate(database: Path, busy_timeout: float = 10.0) -> int:
    """Bring the database to ``HEAD``, each step in a transaction; returns the number before.

    Two processes may call it at once: the second finds the work done.
    """
    if check(database, busy_timeout):
        return HEAD
    # Imported here: a start that finds the schema in place does not pay for it.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, event

    before = version_of(database, busy_timeout)
    engine = create_engine(
        f"sqlite:///{database}", connect_args={"timeout": busy_timeout, "isolation_level": None}
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            connection.rollback()
            with connection.begin():
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
    finally:
        engine.dispose()
    return before


class _read_only:  # noqa: N801 - used as a function
    """One read-only connection that is closed at the end, which ``sqlite3`` does not do."""

    def __init__(self, database: Path, busy_timeout: float) -> None:
        self._uri = f"{database.absolute().as_uri()}?mode=ro"
        self._timeout = busy_timeout

    def __enter__(self) -> sqlite3.Connection:
        self._connection = sqlite3.connect(self._uri, uri=True, timeout=self._timeout)
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()
