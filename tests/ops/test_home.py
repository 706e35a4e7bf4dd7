"""A home that is not there, not ours, not usable, damaged or newer."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep.models.migrations.runner import HEAD
from tests.ops.conftest import Command

READING = [
    ("ls",),
    ("show", "ab"),
    ("events", "ab"),
    ("explain", "ab"),
    ("read", "ab"),
    ("resume",),
    ("resume", "ab"),
    ("retry", "ab", "--by", "me", "--why", "because"),
]
WRITING = [("migrate",), ("worker",), ("research", "what?", "--source", ".")]


def contents(home: Path) -> dict[str, str]:
    """Return the hash of every file below a home."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("words", READING)
def test_no_home_ends_with_3_and_makes_none(
    inside: Command, home: Path, words: tuple[str, ...]
) -> None:
    ran = inside(*words)
    assert (ran.code, ran.out) == (3, "")
    assert f"there is no home at {home} yet" in ran.err
    assert not home.exists()


def test_an_empty_folder_is_no_home_yet(inside: Command, home: Path) -> None:
    home.mkdir()
    assert inside("ls").code == 3
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("words", [*READING, *WRITING])
def test_a_file_in_the_place_of_the_home_ends_with_5(
    inside: Command, home: Path, words: tuple[str, ...]
) -> None:
    home.write_text("not a folder")
    ran = inside(*words)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("error: ")
    assert "--home" in ran.err
    assert home.read_text() == "not a folder"


@pytest.mark.parametrize("words", WRITING)
def test_a_home_that_cannot_be_made_ends_with_5(inside: Command, words: tuple[str, ...]) -> None:
    # Not even root can make a folder there.
    ran = inside(*words, "--home", "/proc/keptstep")
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.count("\n") == 1


def damaged(home: Path) -> None:
    home.mkdir()
    (home / "keptstep.db").write_bytes(b"this is no database" * 1000)


def newer(home: Path) -> None:
    home.mkdir()
    with sqlite3.connect(home / "keptstep.db") as database:
        database.execute("CREATE TABLE task (id)")
        database.execute("PRAGMA user_version = 99")
    database.close()


def foreign(home: Path) -> None:
    home.mkdir()
    with sqlite3.connect(home / "keptstep.db") as database:
        database.execute("CREATE TABLE songs (title)")
    database.close()


@pytest.mark.parametrize("words", [*READING, *WRITING])
@pytest.mark.parametrize(
    ("spoil", "kind"),
    [(damaged, "StoreDamaged"), (newer, "SchemaNewer"), (foreign, "StoreError")],
)
def test_a_database_that_is_not_to_be_used_ends_with_5_and_stays_as_it_is(
    inside: Command,
    home: Path,
    words: tuple[str, ...],
    spoil: Callable[[Path], None],
    kind: str,
) -> None:
    spoil(home)
    before = contents(home)
    ran = inside(*words, "--json")
    assert (ran.code, ran.out, ran.error["kind"]) == (5, "", kind)
    assert contents(home) == before


def test_a_database_damaged_in_its_middle_ends_with_5(
    inside: Command, home: Path, ended: Callable[..., str], opened: object
) -> None:
    task = ended("demo.wide", count=60)
    opened.close()  # type: ignore[attr-defined] # the fixture's app; closing twice is allowed
    database = home / "keptstep.db"
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    ran = inside("show", task)
    assert (ran.code, ran.out) == (5, "")
    assert "damaged" in ran.err


def test_migrate_says_from_where_to_where(inside: Command, home: Path) -> None:
    first, second = inside("migrate", "--json"), inside("migrate", "--json")
    assert (first.code, first.document) == (0, {"home": str(home), "from": 0, "to": HEAD})
    assert (second.code, second.document) == (0, {"home": str(home), "from": HEAD, "to": HEAD})
    assert home.stat().st_mode & 0o777 == 0o700
    assert inside("migrate").out == f"{home} is at schema {HEAD} already\n"


def test_a_held_database_ends_with_5(
    inside: Command,
    ended: Callable[..., str],
    step_named: Callable[[str, str], str],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = ended("demo.fail", text="boom")
    monkeypatch.setenv("KEPTSTEP_BUSY_TIMEOUT", "0.05")
    words = ("retry", step_named(task, "fail"), "--by", "me", "--why", "because")
    held = sqlite3.connect(home / "keptstep.db", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    busy, reading = inside(*words, "--json"), inside("show", task)
    held.execute("ROLLBACK")
    held.close()
    assert (busy.code, busy.error["kind"]) == (5, "StoreBusy")
    assert reading.code == 0
    assert inside(*words).code == 0
