"""Every connection of the store has what the promises rest on, and is refused without it."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from keptstep.models.errors import StoreError
from keptstep.models.migrations.runner import migrate
from keptstep.models.stores import engine as engines

WANTED = {"foreign_keys": 1, "journal_mode": "wal", "synchronous": 2, "busy_timeout": 3000}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "keptstep.db"
    migrate(path)
    return path


@pytest.mark.parametrize("make", [engines.writer_engine, engines.reader_engine])
def test_each_connection_answers_as_wanted(database: Path, make: Any) -> None:
    engine = make(database, 3.0)
    opened = [engine.connect() for _ in range(1 if make is engines.writer_engine else 5)]
    for connection in opened:
        for name, value in WANTED.items():
            assert connection.exec_driver_sql(f"PRAGMA {name}").scalar() == value
        connection.close()
    engine.dispose()


def test_a_reader_cannot_write(database: Path) -> None:
    engine = engines.reader_engine(database, 3.0)
    with engine.connect() as connection, pytest.raises(Exception, match="readonly"):
        connection.exec_driver_sql("DELETE FROM commit_mark")
    engine.dispose()


def test_a_connection_that_does_not_answer_as_wanted_is_refused(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stubborn(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            if sql.startswith("PRAGMA foreign_keys ="):
                sql = "PRAGMA foreign_keys = 0"
            return super().execute(sql, *given)

    connect: Any = sqlite3.connect

    def stubborn(*given: Any, **more: Any) -> Any:
        return connect(*given, factory=Stubborn, **more)

    monkeypatch.setattr(sqlite3.dbapi2, "connect", stubborn)
    engine = engines.writer_engine(database, 3.0)
    with pytest.raises(StoreError, match="foreign_keys = 0"):
        engine.connect()
    engine.dispose()


def test_only_one_module_opens_connections_of_the_store() -> None:
    """A second path to the database is how a connection without foreign keys comes about."""
    package = Path(engines.__file__).parents[2]
    opening = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "create_engine(" in path.read_text() or "sqlite3.connect(" in path.read_text()
    }
    # The migration runner opens the file before the store may; the extractive brain's index
    # lives in memory.
    allowed = {"models/stores/engine.py", "models/migrations/runner.py"}
    assert {one for one in opening - allowed if "research" not in one} == set()
