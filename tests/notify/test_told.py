"""A real worker tells the hook of what waits for a person: once each, without payloads."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from keptstep import App, Registry, Run, Settings, tool, workflow
from keptstep.models.states import TaskStatus

pytestmark = pytest.mark.slow

HIDDEN = "s3cret-of-the-page"
REGISTRY = Registry()


@tool(name="told.read", effect="none", retry=1, registry=REGISTRY)
def read() -> str:
    """Fail with a text that holds a payload."""
    raise ValueError(HIDDEN)


@tool(name="told.send", registry=REGISTRY)
def send() -> str:
    """Leave open whether it acted."""
    raise TimeoutError(HIDDEN)


@workflow(name="told.reading", registry=REGISTRY)
async def reading(run: Run) -> str:
    """Need what fails."""
    return str((await run.step("read", read)).value)


@workflow(name="told.sending", registry=REGISTRY)
async def sending(run: Run) -> str:
    """Need what nobody knows the end of."""
    return str((await run.step("send", send)).value)


@workflow(name="told.wrong", registry=REGISTRY)
async def wrong(run: Run) -> str:
    """Fail by itself."""
    raise TypeError(HIDDEN)


#: Appends the document it is given as one line, in one write.
NOTE = (
    "import os, sys; f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600);"
    "os.write(f, sys.stdin.buffer.read() + b'\\n')"
)


def told(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def test_each_thing_is_told_once_by_however_many_workers(tmp_path: Path) -> None:
    file = tmp_path / "told"
    hook = shlex.join([sys.executable, "-c", NOTE, str(file)])
    settings = Settings.load(tmp_path / "home", {}, sweep=0.05, notify_command=hook)
    with (
        App.open(settings=settings, registry=REGISTRY) as app,
        App.open(settings=settings, registry=REGISTRY),
    ):
        handles = [app.submit(each) for each in (reading, sending, wrong)]
        statuses = [handle.wait(20).status for handle in handles]
        assert statuses == [TaskStatus.FAILED, TaskStatus.WAITING, TaskStatus.FAILED]
    documents = told(file)
    kinds = sorted((one["kind"], one["step"]) for one in documents if one["step"])
    assert kinds == [("step_failed", "read"), ("step_uncertain", "send")]
    assert [one["workflow"] for one in documents if not one["step"]] == ["told.wrong"]
    assert len({one["id"] for one in documents}) == 3
    assert HIDDEN not in file.read_text()
    (uncertain,) = [one for one in documents if one["kind"] == "step_uncertain"]
    assert uncertain["next"].startswith(f"keptstep explain {uncertain['step_id']} --home ")
