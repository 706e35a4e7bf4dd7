"""Small workflows the command line is tested with; imported by name in the processes of tests.

A step that holds tells so through a pipe: the test reads it, and by that knows where the process
is without waiting for a time to pass.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from keptstep.workflows.definition import tool, workflow
from keptstep.workflows.run import Run
from keptstep.workflows.values import Result


def _hold(gate: str, told: str = "begun") -> str:
    """Write into the pipe ``gate`` and wait for ever; once ``gate``.go is there, return."""
    if not Path(f"{gate}.go").exists():
        with Path(gate).open("w") as pipe:
            pipe.write(told)
        threading.Event().wait()
    return "went"


@tool(name="demo.hold", effect="none", deadline=600)
def hold(gate: str) -> str:
    """Hold in a step that may be repeated."""
    return _hold(gate)


@tool(name="demo.pay", effect="side effect", deadline=600)
def pay(gate: str) -> str:
    """Hold in a step that must not be repeated."""
    return _hold(gate)


@tool(name="demo.where", effect="none", deadline=600)
def where(gate: str) -> str:
    """Hold, and tell in which process."""
    return _hold(gate, str(os.getpid()))


@tool(name="demo.die", effect="none", retry=2)
def die() -> str:
    """End the process, and every step in it."""
    os._exit(9)


@tool(name="demo.say", effect="none")
def say(text: str) -> str:
    """Leave a text."""
    return text


@tool(name="demo.give", effect="none")
def give(count: int) -> bytes:
    """Leave bytes that are no text."""
    return b"\x00\xff" * count


@tool(name="demo.fail", effect="none", retry=1)
def fail(text: str) -> str:
    """Fail with a text, unless the file of that name is there."""
    if Path(text).exists():
        return "mended"
    raise ValueError(text)


@workflow(name="demo.say")
async def saying(run: Run, text: str) -> Result[str]:
    """One step that leaves a text."""
    return await run.step("say", say, text=text)


@workflow(name="demo.give")
async def giving(run: Run, count: int) -> Result[bytes]:
    """One step that leaves bytes."""
    return await run.step("give", give, count=count)


@workflow(name="demo.hold")
async def holding(run: Run, gate: str) -> Result[str]:
    """A step that is done, one that holds."""
    await run.step("first", say, text="one")
    return await run.step("hold", hold, gate=gate)


@workflow(name="demo.pay")
async def paying(run: Run, gate: str) -> Result[str]:
    """A side effect that holds."""
    return await run.step("pay", pay, gate=gate)


@workflow(name="demo.where")
async def telling(run: Run, gate: str) -> Result[str]:
    """A step that tells where it holds."""
    return await run.step("where", where, gate=gate)


@workflow(name="demo.die")
async def dying(run: Run) -> Result[str]:
    """A step that kills every worker that takes it."""
    return await run.step("die", die)


@workflow(name="demo.fail")
async def failing(run: Run, text: str) -> Result[str]:
    """A step that is done, one that fails."""
    await run.step("first", say, text="one")
    return await run.step("fail", fail, text=text)


@workflow(name="demo.wide")
async def wide(run: Run, count: int) -> int:
    """Many steps side by side."""
    return len(await run.gather(run.step(f"say:{i}", say, text=str(i)) for i in range(count)))


def _contents(file: str) -> str:
    return Path(file).read_text()


@workflow(name="demo.change", attempts=1)
async def changing(run: Run, file: str, gate: str) -> Result[str]:
    """A step whose input is read from a file: changed between two runs, the plan differs."""
    await run.step("say", say, text=_contents(file))
    return await run.step("hold", hold, gate=gate)
