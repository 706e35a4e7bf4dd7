"""A reader that goes away, a full disk, a bug: quiet or one line, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ops.conftest import LIMIT, Command

Task = Callable[..., str]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("events",), ("events", "--json"), ("show", "--all"), ("read",)]
)
def test_a_reader_that_goes_away_is_no_error(
    environment: dict[str, str], ended: Task, words: tuple[str, ...]
) -> None:
    task = (
        ended("demo.wide", count=300)
        if words != ("read",)
        else ended("demo.say", text="line\n" * 100_000)
    )
    command = [sys.executable, "-m", "keptstep", words[0], task, *words[1:]]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        err = process.stderr.read()
        code = process.wait(LIMIT)
    assert (code, err) == (141, b"")


@pytest.mark.slow
def test_help_into_a_closed_pipe_is_quiet(environment: dict[str, str]) -> None:
    script = '"$0" -m keptstep --help | true; exit "${PIPESTATUS[0]}"'
    run = subprocess.run(
        ["bash", "-c", script, sys.executable], env=environment, capture_output=True, check=False
    )
    assert run.returncode in {0, 141}
    assert run.stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("ls",), ("version", "--json")])
def test_output_that_cannot_be_written_ends_with_74(
    environment: dict[str, str], ended: Task, words: tuple[str, ...], unbuffered: str
) -> None:
    ended("demo.say", text="hello")
    environment["PYTHONUNBUFFERED"] = unbuffered
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "keptstep", *words],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 74
    assert "the output could not be written (No space left on device)" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.slow
def test_a_closed_stdout_is_no_bug(environment: dict[str, str]) -> None:
    script = '"$0" -m keptstep version >&-'
    run = subprocess.run(
        ["bash", "-c", script, sys.executable], env=environment, capture_output=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.slow
def test_an_ascii_terminal_gets_escapes(process: Command, submitted: Task) -> None:
    task = submitted("demo.say", text="Grüße 日本")
    ran = process("resume", task, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (ran.code, ran.out) == (0, "Gr\\xfc\\xdfe \\u65e5\\u672c\n")


def test_a_bug_is_one_line_and_its_details_are_kept(
    inside: Command, ended: Task, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended("demo.say", text="hello")
    monkeypatch.setattr("keptstep.ops.documents.task_document", lambda *_: 1 / 0)
    ran = inside("ls", "--json")
    assert (ran.code, ran.out, ran.error["kind"]) == (70, "", "Unexpected")
    (kept,) = (home / "errors").iterdir()
    assert str(kept) in ran.error["message"]
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError" in kept.read_text()
    assert inside("ls", "--json", "--debug").err.startswith("Traceback")


def test_a_bug_without_a_home_points_to_debug(
    inside: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keptstep.ops.homes.check_home", lambda *_: 1 / 0)
    ran = inside("ls")
    assert ran.code == 70
    assert ran.err.splitlines() == [
        "error: unexpected ZeroDivisionError",
        "  run it again with --debug to see the details",
    ]
    assert not home.exists()


def test_log_records_are_one_harmless_line_without_payload(inside: Command, ended: Task) -> None:
    import logging

    task = ended("demo.say", text="hello")
    inside("show", task)
    log = logging.getLogger("keptstep.workers.sweeper")
    (handler,) = logging.getLogger().handlers
    lines: list[str] = []
    handler._to.print = lambda text, **_: lines.append(text.plain)  # type: ignore[attr-defined]
    log.error("a sweep of \x1b[31m failed", exc_info=ValueError("a payload"))
    log.info("not said")
    logging.getLogger("dramatiq").error("about a message")
    assert lines == ["error: a sweep of \\x1b[31m failed (ValueError)"]
