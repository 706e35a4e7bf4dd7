"""Statements of the hot path: written as SQLAlchemy Core, compiled once, run on the driver.

Building and compiling a statement each time costs several times what the database does for it.
Here Core stays the source, so the text is the dialect's own, and the driver gets text and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable, false, or_


class Rows:
    """What a statement gave back: each row as a mapping of its columns."""

    __slots__ = ("_cursor", "rowcount")

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.rowcount: int = cursor.rowcount

    def first(self) -> dict[str, Any] | None:
        """Return the first row, or ``None``."""
        row = self._cursor.fetchone()
        return None if row is None else dict(zip(self._names(), row, strict=True))

    def all(self) -> list[dict[str, Any]]:
        """Return every row."""
        names = self._names()
        return [dict(zip(names, row, strict=True)) for row in self._cursor.fetchall()]

    def scalar(self) -> Any:
        """Return the first column of the first row, or ``None``."""
        row = self._cursor.fetchone()
        return None if row is None else row[0]

    def scalars(self) -> list[Any]:
        """Return the first column of every row."""
        return [row[0] for row in self._cursor.fetchall()]

    def _names(self) -> list[str]:
        return [column[0] for column in self._cursor.description]


def one_of(column: Any, values: Iterable[Any]) -> Any:
    """Return the condition that a column holds one of some constants.

    Core's own ``in_`` leaves its list open until a statement is run, which a prepared one is not.
    """
    return or_(false(), *(column == value for value in values))


class Prepared:
    """One statement with named parameters; ``columns`` are those of an insert."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._compiled: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {}

    def run(self, connection: Connection, **given: Any) -> Rows:
        """Run it once."""
        text, names, fixed = self._on(connection)
        values = [given[name] if name in given else fixed[name] for name in names]
        cursor = connection.connection.cursor()
        cursor.execute(text, values)
        return Rows(cursor)

    def run_many(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run it once for each row of parameters."""
        text, names, fixed = self._on(connection)
        values = [[row[n] if n in row else fixed[n] for n in names] for row in rows]
        connection.connection.cursor().executemany(text, values)

    def _on(self, connection: Connection) -> tuple[str, tuple[str, ...], dict[str, Any]]:
        dialect = connection.dialect
        found = self._compiled.get(dialect.name)
        if found is None:
            statement: Any = self._statement
            made = statement.compile(dialect=dialect, column_keys=self._columns)
            found = (str(made), tuple(made.positiontup), dict(made.params))
            self._compiled[dialect.name] = found
        return found
