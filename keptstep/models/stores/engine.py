"""SQLite connections: the one place that opens them, and what each must answer before use.

A connection whose pragmas do not read back as wanted is refused: foreign keys that are off on
one path are how orphans come about (R81), and ``synchronous`` below FULL would show results that
a power cut takes back (R42).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from keptstep.models.errors import StoreBusy, StoreDamaged, StoreError

_FULL = 2
_CHECKPOINT_PAGES = 4000


def writer_engine(database: Path, busy_timeout: float) -> Engine:
    """Return an engine with one connection, whose transactions begin IMMEDIATE."""
    engine = create_engine(
        URL.create("sqlite", database=str(database)),
        poolclass=StaticPool,
        connect_args={"timeout": busy_timeout, "check_same_thread": False},
    )
    _prepare(engine, busy_timeout, read_only=False)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def reader_engine(database: Path, busy_timeout: float) -> Engine:
    """Return an engine of read-only connections; each read sees one committed snapshot."""
    engine = create_engine(
        URL.create("sqlite", database=str(database)),
        poolclass=QueuePool,
        pool_size=8,
        max_overflow=32,
        connect_args={"timeout": busy_timeout, "check_same_thread": False},
    )
    _prepare(engine, busy_timeout, read_only=True)
    event.listen(engine, "begin", _begin)
    return engine


def is_driver_error(error: BaseException) -> bool:
    """Whether an error is the database's own, raised through SQLAlchemy or by the driver."""
    return isinstance(error, DBAPIError | sqlite3.Error)


def told(error: Exception, database: Path) -> StoreError:
    """Turn a driver's error into one line for a person; parameters are never repeated."""
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{database} is held by another process: try again when it is done")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreDamaged(
            f"{database} is damaged: restore it from a backup, or move it away to begin anew"
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"the disk of {database} is full: make room, nothing was lost")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreError(f"{database} cannot be written: check who owns it and its folder")
    return StoreError(f"{database} could not do it ({type(cause).__name__}: {cause})")


def _prepare(engine: Engine, busy_timeout: float, *, read_only: bool) -> None:
    wanted = {
        "foreign_keys": 1,
        "journal_mode": "wal",
        "synchronous": _FULL,
        "busy_timeout": int(busy_timeout * 1000),
        "query_only": int(read_only),
    }

    def connected(connection: sqlite3.Connection, _record: object) -> None:
        # The driver's own BEGIN is deferred and so could fail without waiting: ours is explicit.
        connection.isolation_level = None
        for name, value in wanted.items():
            connection.execute(f"PRAGMA {name} = {value}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        for name, value in wanted.items():
            answer = connection.execute(f"PRAGMA {name}").fetchone()[0]
            if answer != value:
                raise StoreError(
                    f"SQLite answers {name} = {answer} where {value} is needed: this file system "
                    "or SQLite build cannot keep what keptstep promises"
                )

    event.listen(engine, "connect", connected)


def _begin_immediate(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN")
