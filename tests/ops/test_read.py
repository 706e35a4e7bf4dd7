"""read: the bytes as they are into files and pipes, harmless text on a terminal."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep import App
from keptstep.models.ids import ArtifactId, TaskId
from keptstep.testing.damage import drop_file, tamper_file
from tests.ops.conftest import LIMIT, Command

Task = Callable[..., str]
HOSTILE = "\x1b[2J evil \u202e line\r\nsecond\n"


@pytest.fixture
def on_a_terminal(environment: dict[str, str]) -> Callable[..., tuple[int, str]]:
    """Return a function that runs the command with a terminal as its stdout."""

    def run(*words: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "keptstep", *words],
            env=environment | {"TERM": "dumb"},
            stdout=theirs,
            stderr=subprocess.STDOUT,
        ) as process:
            os.close(theirs)
            shown = b""
            try:
                while chunk := os.read(ours, 4096):
                    shown += chunk
            except OSError:  # what a terminal says when its other end is closed
                pass
            code = process.wait(LIMIT)
        os.close(ours)
        return code, shown.decode()

    return run


def sha_of(app: App, task: str) -> str:
    artifact = app.store.task(TaskId(bytes.fromhex(task))).artifact_id
    assert artifact is not None
    return app.store.artifact(ArtifactId(artifact)).sha


@pytest.mark.slow
def test_the_bytes_go_to_a_pipe_as_they_are(process: Command, ended: Task) -> None:
    ran = process("read", ended("demo.say", text="\x1b[31mred\n"))
    assert (ran.code, ran.out, ran.err) == (0, "\x1b[31mred\n", "")


def test_a_task_a_step_and_an_artifact_lead_to_the_same_bytes(
    inside: Command, ended: Task, step_named: Callable[[str, str], str], tmp_path: Path
) -> None:
    task = ended("demo.say", text="hello")
    artifact = inside("show", task, "--json").document["artifact_id"]
    for number, typed in enumerate((task, step_named(task, "say"), f"{task}/say", artifact)):
        out = tmp_path / str(number)
        assert inside("read", typed, "--out", str(out)).code == 0
        assert out.read_text() == "hello"


@pytest.mark.slow
def test_a_terminal_gets_harmless_text(
    on_a_terminal: Callable[..., tuple[int, str]], ended: Task
) -> None:
    code, shown = on_a_terminal("read", ended("demo.say", text=HOSTILE))
    assert (code, shown) == (0, "\\x1b[2J evil \\u202e line\r\nsecond\r\n")


@pytest.mark.slow
def test_a_terminal_is_spared_other_data(
    on_a_terminal: Callable[..., tuple[int, str]], ended: Task
) -> None:
    code, shown = on_a_terminal("read", ended("demo.give", count=10))
    assert code == 2
    assert "is no text (application/octet-stream, 20 B)" in shown
    assert "\x00" not in shown


def test_an_existing_file_is_replaced_only_by_force(
    inside: Command, ended: Task, tmp_path: Path
) -> None:
    task, out = ended("demo.give", count=1000), tmp_path / "out.bin"
    out.write_text("mine")
    refused = inside("read", task, "--out", str(out))
    assert (refused.code, out.read_text()) == (2, "mine")
    assert inside("read", task, "--out", str(out), "--force").code == 0
    assert out.read_bytes() == b"\x00\xff" * 1000
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_record_in_json_names_hash_and_file(
    inside: Command, ended: Task, tmp_path: Path
) -> None:
    task, out = ended("demo.say", text="hello"), tmp_path / "out.txt"
    document = inside("read", task, "--json").document
    assert document["sha"] == hashlib.sha256(b"hello").hexdigest()
    assert (document["size"], document["out"], document["sources"]) == (5, None, [])
    assert inside("read", task, "--json", "--out", str(out)).document["out"] == str(out)


def test_a_damaged_payload_gives_no_byte(
    inside: Command, ended: Task, opened: App, home: Path
) -> None:
    task = ended("demo.say", text="hello")
    tamper_file(home / "blobs", sha_of(opened, task))  # type: ignore[arg-type]
    damaged = inside("read", task, "--json", "--out", str(home / "out"))
    assert (damaged.code, damaged.error["kind"]) == (5, "ArtifactCorrupt")
    assert not (home / "out").exists()
    drop_file(home / "blobs", sha_of(opened, task))  # type: ignore[arg-type]
    assert inside("read", task, "--json", "--out", str(home / "out")).code == 5
    assert (inside("read", task).code, inside("read", task).out) == (5, "")
    assert inside("show", task).code == 0


def test_what_has_no_result_says_so(inside: Command, ended: Task) -> None:
    ran = inside("read", ended("demo.fail", text="boom"))
    assert (ran.code, ran.out) == (3, "")
    assert "has no result: it is failed" in ran.err
