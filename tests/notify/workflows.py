"""Workflows that end in each of the ways a person is told of; imported by workers by name."""

from __future__ import annotations

from pathlib import Path

from keptstep.workflows.definition import tool, workflow
from keptstep.workflows.run import Run


@tool(name="told.fail", effect="none", retry=1)
def fail(text: str) -> str:
    """Fail with a text."""
    raise ValueError(text)


@tool(name="told.pay", effect="side effect")
def pay(text: str) -> str:
    """Fail, and nobody knows whether something happened."""
    raise ConnectionError(text)


@tool(name="told.say", effect="none")
def say(text: str) -> str:
    """Leave a text."""
    return text


@workflow(name="told.step_failed")
async def step_failed(run: Run, text: str) -> None:
    """A step that fails for good, and the function with it."""
    await run.step("fail", fail, text=text)


@workflow(name="told.step_uncertain")
async def step_uncertain(run: Run, text: str) -> None:
    """A side effect that leaves no result."""
    await run.step("pay", pay, text=text)


@workflow(name="told.task_failed", attempts=1)
async def task_failed(run: Run, text: str) -> None:
    """A function that raises."""
    raise ValueError(text)


def _take(file: Path) -> str:
    """Return what the file holds; the next one who asks gets something else."""
    text = file.read_text()
    file.write_text(f"{text} and more")
    return text


@workflow(name="told.task_blocked", attempts=5)
async def task_blocked(run: Run, text: str) -> None:
    """A function that asks for something else when it is entered again."""
    await run.step("say", say, text=_take(Path(text)))
    raise ValueError(text)
