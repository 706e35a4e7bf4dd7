"""A worker to be paused: ``python -m tests.crash.paused HOME COUNTS GATE [MUTANT]``.

Its one step waits inside the call until the file GATE is there; what it returns tells which
process made it. Prints ``DONE`` when the task is done.
"""

import os
import sys
import time
from pathlib import Path

from keptstep import App, Run, Settings, tool, workflow
from keptstep.models.states import TASK_FINISHED


@tool(name="paused.read", effect="none", retry=5)
def read(gate: str) -> str:
    """Wait for the gate, then say who read."""
    with Path(os.environ["COUNTS"]).open("a") as counts:
        counts.write(f"{os.getpid()}\n")
    while not Path(gate).exists():
        time.sleep(0.02)
    return f"read by {os.getpid()}"


@workflow(name="paused")
async def paused(run: Run, gate: str) -> str:
    """Run the one step."""
    return str((await run.step("read", read, gate=gate)).value)


def main(home: str, counts: str, gate: str, mutant: str = "") -> None:
    """Work on the task until it is finished and a moment longer, for late results."""
    os.environ["COUNTS"] = counts
    if mutant:
        from tests.crash import mutants

        mutants.apply(mutant)
    settings = Settings.load(home, {}, sweep=0.1, lease=1.0, workers=2)
    with App.open(settings=settings) as app:
        handle = app.submit(paused, key="paused", gate=gate)
        while handle.task().status not in TASK_FINISHED:
            time.sleep(0.02)
    print("DONE")


if __name__ == "__main__":
    main(*sys.argv[1:])
