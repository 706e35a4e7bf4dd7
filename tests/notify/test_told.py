"""The hook as a user sets it, around real stores and workers."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from keptstep import App, Settings
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.workers import notifier
from tests.notify import workflows
from tests.notify.server import code, receiving
from tests.ops.conftest import LIMIT, ROOT
from tests.waiting import until

pytestmark = pytest.mark.slow

HIDDEN = "s3cret"
NOTE = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(file, sys.stdin.read().encode() + b"\\n")
"""


@pytest.fixture
def told(tmp_path: Path) -> Callable[[], list[Any]]:
    """Return a function that gives the documents told so far."""

    def read() -> list[Any]:
        file = tmp_path / "told"
        return (
            [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        )

    return read


def command(tmp_path: Path) -> str:
    """Return a hook that notes each document in a line of its own."""
    return shlex.join([sys.executable, "-c", NOTE, str(tmp_path / "told")])


def opened(tmp_path: Path, **given: Any) -> App:
    return App.open(settings=Settings.load(tmp_path / "home", {}, sweep=0.05, **given))


KINDS = {
    "step_failed": workflows.step_failed,
    "step_uncertain": workflows.step_uncertain,
    "task_failed": workflows.task_failed,
    "task_blocked": workflows.task_blocked,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_waits_for_a_person_is_told_once_and_without_a_payload(
    tmp_path: Path, told: Callable[[], list[Any]], kind: str
) -> None:
    text = HIDDEN
    if kind == "task_blocked":
        text = str(tmp_path / "asked")
        (tmp_path / "asked").write_text(HIDDEN)
    with opened(tmp_path, notify_command=command(tmp_path)) as app:
        handle = app.submit(KINDS[kind], text=text)
        until(told, "the hook is called")
        task = handle.task()
    (document,) = told()
    assert (document["kind"], document["workflow"]) == (kind, f"told.{kind}")
    assert document["task_id"] == task.id.hex()
    assert document["reason"]
    assert HIDDEN not in (tmp_path / "told").read_text()
    explained = subprocess.run(
        [sys.executable, "-m", *shlex.split(document["next"])],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    assert explained.returncode == 0


def test_an_address_that_fails_twice_is_told_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "_FIRST", 0.01)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    answers = [code(200), code(500), code(503)]

    def answer(to: BaseHTTPRequestHandler) -> None:
        answers.pop()(to)

    with (
        receiving(answer) as receiver,
        opened(tmp_path, notify_url=receiver.url()) as app,
    ):
        app.submit(workflows.step_uncertain, text=HIDDEN)
        until(lambda: not answers, "the address is posted to three times")
    ids = [json.loads(body)["id"] for _, _, body in receiver.received]
    assert (len(ids), len(set(ids))) == (3, 1)


def test_what_happened_without_a_hook_is_told_when_one_is_there(
    tmp_path: Path, told: Callable[[], list[Any]]
) -> None:
    with opened(tmp_path) as app:
        handle = app.submit(workflows.step_uncertain, text=HIDDEN)
        until(
            lambda: [step.status for step in app.store.steps(handle.id)] == [StepStatus.UNCERTAIN],
            "the step is uncertain",
        )
    with opened(tmp_path, notify_command=command(tmp_path)):
        until(told, "the hook is called")


def test_what_happens_at_the_very_end_is_told_too(
    tmp_path: Path, told: Callable[[], list[Any]]
) -> None:
    """The program stops as soon as its task failed: nobody waits for the next round."""
    given = {"notify_command": command(tmp_path), "grace": 20.0}
    with App.open(settings=Settings.load(tmp_path / "home", {}, sweep=30.0, **given)) as app:
        handle = app.submit(workflows.task_failed, text=HIDDEN)
        until(lambda: handle.task().status is TaskStatus.FAILED, "the task failed")
    assert [document["kind"] for document in told()] == ["task_failed"]


@pytest.mark.crash
def test_a_worker_killed_after_the_call_leaves_it_to_another_with_the_same_id(
    tmp_path: Path, told: Callable[[], list[Any]]
) -> None:
    note = 'cat >> "$1"; echo >> "$1"'
    kill = '[ -e "$1.killed" ] || { touch "$1.killed"; kill -9 $PPID; }'
    hook = shlex.join(["sh", "-c", f"{note}; {kill}", "sh", str(tmp_path / "told")])
    worker = subprocess.run(
        [sys.executable, "-m", "tests.notify.dying", str(tmp_path / "home")],
        env={"KEPTSTEP_NOTIFY_COMMAND": hook, "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        check=False,
        timeout=LIMIT,
    )
    assert worker.returncode == -signal.SIGKILL
    assert len(told()) == 1
    with opened(tmp_path, notify_command=hook):
        until(lambda: len(told()) > 1, "the hook is called again")
    assert len(told()) == 2
    assert len({document["id"] for document in told()}) == 1


@pytest.mark.crash
def test_of_several_workers_one_tells(tmp_path: Path, told: Callable[[], list[Any]]) -> None:
    app = opened(tmp_path)
    for _ in range(6):
        app.submit(workflows.step_failed, text=HIDDEN)
    app.close()
    environ = {
        "KEPTSTEP_HOME": str(tmp_path / "home"),
        "KEPTSTEP_SWEEP": "0.05",
        "KEPTSTEP_NOTIFY_COMMAND": command(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    words = ["worker", "--processes", "3", "--import", workflows.__name__]
    workers = subprocess.Popen(
        [sys.executable, "-m", "keptstep", *words],
        env=environ,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: len(told()) >= 6, "all are told", LIMIT)
    finally:
        workers.terminate()
        _, said = workers.communicate(timeout=LIMIT)
    assert workers.returncode == 0
    assert len(told()) == len({document["id"] for document in told()}) == 6
    assert HIDDEN not in said
