"""What the database itself refuses, and that the migrations make exactly the tables we use."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.errors import SchemaNewer, StoreDamaged, StoreError
from keptstep.models.events import EventKind
from keptstep.models.migrations.runner import HEAD, check, migrate, upgrade
from keptstep.models.states import STEP_MOVES, TASK_MOVES, StepStatus, TaskStatus
from keptstep.models.tables import METADATA

TASK, STEP, TALK = b"t" * 16, b"s" * 16, b"c" * 16


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "keptstep.db"
    migrate(path)
    return path


def put_task(connection: sqlite3.Connection) -> None:
    """Insert a conversation with one ready task."""
    connection.execute("INSERT INTO conversation(id, created_at) VALUES (?, 1)", (TALK,))
    connection.execute(
        "INSERT INTO task(id, conversation_id, workflow, status, input_sha, token, attempts,"
        " max_attempts, due_at, last_seq, created_at)"
        " VALUES (?, ?, 'w', 'ready', ?, 0, 0, 3, 1, 0, 1)",
        (TASK, TALK, "a" * 64),
    )


@pytest.fixture
def connection(database: Path) -> Iterator[sqlite3.Connection]:
    """Return a plain connection, as a careless program would open it, over one small task."""
    opened = sqlite3.connect(database, isolation_level=None)
    put_task(opened)
    opened.execute(
        "INSERT INTO step(id, task_id, position, name, tool, artifact_class, effect, status,"
        " input_sha, attempts, max_attempts, deadline, token, due_at)"
        " VALUES (?, ?, 1, 'n', 't', 3, 'none', 'pending', ?, 0, 3, 60, 0, 1)",
        (STEP, TASK, "a" * 64),
    )
    opened.execute(
        "INSERT INTO event(task_id, seq, at, kind, data) VALUES (?, 1, 1, 'task_submitted', '{}')",
        (TASK,),
    )
    yield opened
    opened.close()


def described(path: Path) -> dict[str, str]:
    """Return the tables and indexes of a database, their text without its spacing."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL"
        " AND name <> 'alembic_version'"
    ).fetchall()
    connection.close()
    return {name: _normal(text) for name, text in rows}


def _normal(text: str) -> str:
    cut = re.fullmatch(r"([^(]*)\((.*)\)([^)]*)", re.sub(r"\s+", " ", text).strip())
    assert cut is not None
    parts = re.split(r", (?=[\w\"]+ [A-Z]|CONSTRAINT|PRIMARY|FOREIGN|CHECK|UNIQUE)", cut[2])
    inside = ", ".join(sorted(part.strip() for part in parts))
    return f"{cut[1].strip()} ({inside}) {cut[3].strip()}"


def test_a_migrated_database_is_the_one_the_tables_describe(
    database: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh.db"
    engine = create_engine(f"sqlite:///{fresh}")
    METADATA.create_all(engine)
    engine.dispose()
    assert described(database) == described(fresh)


def test_every_vocabulary_stands_in_the_checks_word_for_word(
    connection: sqlite3.Connection,
) -> None:
    for table, column, words in (
        ("step", "status", StepStatus),
        ("step", "effect", Effect),
        ("task", "status", TaskStatus),
        ("event", "kind", EventKind),
    ):
        text = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name = ?", (table,)
        ).fetchone()[0]
        listed = re.search(rf"{column} IN \(([^)]*)\)", text)
        assert listed is not None
        assert set(re.findall(r"'([^']*)'", listed[1])) == {str(word) for word in words}
    assert [int(one) for one in ArtifactClass] == [1, 2, 3, 4]


@pytest.mark.parametrize(("table", "moves"), [("step", STEP_MOVES), ("task", TASK_MOVES)])
def test_the_database_takes_exactly_the_moves_of_the_transition_table(
    connection: sqlite3.Connection, table: str, moves: dict[str, frozenset[str]]
) -> None:
    """Walk every pair: what the table has is taken, what it has not is refused."""
    held = "owner = CASE WHEN :to = 'running' THEN 'w' END"
    lease = "lease_until = CASE WHEN :to = 'running' THEN 9 END"
    update = f"UPDATE {table} SET status = :to, {held}, {lease}, artifact_id = x'00'"  # noqa: S608
    trigger = f"{table}_moves"
    body = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE name = ?", (trigger,)
    ).fetchone()[0]
    for start, allowed in moves.items():
        for to in moves:
            connection.execute(f"DROP TRIGGER {trigger}")
            connection.execute(update, {"to": start})
            connection.execute(body)
            if to == start or to in allowed:
                connection.execute(update, {"to": to})
            else:
                with pytest.raises(sqlite3.IntegrityError, match="no such move"):
                    connection.execute(update, {"to": to})


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET data = '{}'",
        "DELETE FROM event",
        "INSERT OR REPLACE INTO event SELECT task_id, seq, at, kind, NULL, 1, '' FROM event",
        "INSERT INTO event SELECT task_id, 3, at, kind, NULL, 1, data FROM event",
        "DELETE FROM task",
        "DELETE FROM conversation",
        "UPDATE step SET status = 'running'",
        "UPDATE step SET status = 'done'",
        "UPDATE step SET attempts = 9",
        "UPDATE step SET status = 'finished'",
        "UPDATE step SET input = printf('%2000d', 1)",
        "UPDATE event SET seq = 7",
    ],
)
def test_a_careless_program_cannot_break_the_log_or_the_rows(
    connection: sqlite3.Connection, statement: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)


def test_a_conversation_marked_as_being_deleted_takes_everything_with_it(
    connection: sqlite3.Connection,
) -> None:
    connection.execute("PRAGMA foreign_keys = 1")
    connection.execute("UPDATE conversation SET deleting = 2")
    connection.execute("DELETE FROM conversation")
    for table in ("task", "step", "event", "attempt"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608


def test_a_newer_schema_is_refused_before_a_byte_is_written(tmp_path: Path) -> None:
    path = tmp_path / "keptstep.db"
    migrate(path)
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {HEAD + 98}")
    raw.close()
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with pytest.raises(SchemaNewer, match="newer keptstep"):
        migrate(path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_home_of_the_first_schema_is_brought_up_to_date_with_its_log_and_its_guards(
    tmp_path: Path,
) -> None:
    path = tmp_path / "keptstep.db"
    upgrade(path, 1.0, "0001")
    raw = sqlite3.connect(path, isolation_level=None)
    put_task(raw)
    for seq in (1, 2):
        raw.execute(
            "INSERT INTO event(task_id, seq, at, kind, data)"
            " VALUES (?, ?, 1, 'task_submitted', '{}')",
            (TASK, seq),
        )
    before = raw.execute("SELECT * FROM event").fetchall()
    raw.close()
    assert migrate(path) == 1
    assert check(path)
    raw = sqlite3.connect(path, isolation_level=None)
    assert raw.execute("SELECT * FROM event").fetchall() == before
    assert raw.execute("SELECT status, paused_at FROM task").fetchall() == [("ready", None)]
    for statement in ("UPDATE event SET seq = 9", "DELETE FROM event", "DELETE FROM task"):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(statement)
    with pytest.raises(sqlite3.IntegrityError, match="without a gap"):
        raw.execute("INSERT INTO event SELECT task_id, 9, at, kind, NULL, 1, data FROM event")
    raw.close()


def test_migrating_twice_changes_nothing(database: Path) -> None:
    assert check(database)
    before = database.read_bytes()
    assert migrate(database) == HEAD
    assert database.read_bytes() == before


def test_a_migration_that_is_cut_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic import op

    path = tmp_path / "keptstep.db"
    execute = op.execute

    def cut(statement: object) -> None:
        if "event_stays" in str(statement):
            raise KeyboardInterrupt
        execute(statement)  # type: ignore[arg-type]

    monkeypatch.setattr(op, "execute", cut)
    with pytest.raises(KeyboardInterrupt):
        migrate(path)
    monkeypatch.undo()
    assert not check(path)
    migrate(path)
    assert check(path)


@pytest.mark.parametrize("content", [b"not a database, but text" * 100, b"\x00" * 4096])
def test_a_damaged_database_is_told_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keptstep.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged) as told:
        migrate(path)
    assert "\n" not in str(told.value)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "keptstep.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE theirs(x)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        migrate(path)
    assert path.read_bytes() == before
