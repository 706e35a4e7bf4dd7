"""Bring a database to this version's schema, or refuse before a byte is written (D40)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from keptstep.models.errors import SchemaNewer, StoreDamaged, StoreError

#: The newest migration, and the number kept in the file's header (``PRAGMA user_version``).
HEAD = 2

_SCRIPTS = Path(__file__).parent


def version_of(database: Path, busy_timeout: float) -> int:
    """Return the schema's number, 0 for a new file; opens it read-only and writes nothing.

    Raises ``StoreDamaged`` when the file is no SQLite database, ``StoreError`` when its tables
    are not ours.
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
    before = version_of(database, busy_timeout)
    upgrade(database, busy_timeout, "head")
    return before


def upgrade(database: Path, busy_timeout: float, to: str) -> None:
    """Run the migrations up to the revision ``to`` in one transaction."""
    # Imported here: a start that finds the schema in place does not pay for it.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import URL, create_engine, event

    engine = create_engine(
        URL.create("sqlite", database=str(database)),
        connect_args={"timeout": busy_timeout, "isolation_level": None},
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    try:
        _use_wal(database, busy_timeout)
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, to)
    finally:
        engine.dispose()


def _use_wal(database: Path, busy_timeout: float) -> None:
    """Switch the file to WAL, before any transaction: inside one the change is not made.

    SQLite does not wait for others here, so two processes on a new home have to try again.
    """
    tries = Retrying(
        retry=retry_if_exception_type(sqlite3.OperationalError),
        stop=stop_after_delay(busy_timeout),
        wait=wait_fixed(0.02),
        reraise=True,
    )
    with closing(sqlite3.connect(database, timeout=0)) as connection:
        tries(connection.execute, "PRAGMA journal_mode=WAL")


def _read_only(database: Path, busy_timeout: float) -> closing[sqlite3.Connection]:
    """Return a read-only connection that is closed at the end, which ``sqlite3`` does not do.

    Without a log beside it nobody is at work, and the file is all there is: then it is read as
    immutable, since SQLite would otherwise make a log and an index even to read.
    """
    alone = not database.with_name(f"{database.name}-wal").exists()
    uri = f"{database.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    return closing(sqlite3.connect(uri, uri=True, timeout=busy_timeout))
