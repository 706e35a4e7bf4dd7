"""A job to be killed: ``python -m tests.crash.job HOME COUNTS [POINT:N] [MUTANT]``.

Every call of a tool appends one line to COUNTS, in one write. Run again on the same home it goes
on with the same task. Prints ``DONE`` and the result when the task is done, ``OPEN`` when a step's
outcome is uncertain.
"""

import os
import sys
import time
from pathlib import Path

from keptstep import App, RetryPolicy, Run, Settings, tool, workflow
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.killpoints import kill_at

SOURCES = 5
EAGER = RetryPolicy(attempts=50)


def count(name: str) -> None:
    """Note one call."""
    line = os.open(os.environ["COUNTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(line, f"{name}\n".encode())
    os.close(line)


@tool(name="job.find", artifact_class=2, effect="none", retry=EAGER)
def find() -> list[int]:
    """Find the sources."""
    count("find")
    return list(range(SOURCES))


@tool(name="job.read", artifact_class=2, effect="none", retry=EAGER)
def read(n: int) -> str:
    """Read one source."""
    count(f"read:{n}")
    return f"source {n} " * 100


@tool(name="job.note", artifact_class=3, effect="idempotent", retry=EAGER)
def note(page: str) -> int:
    """Take a note; the provider would take our key."""
    count(f"note:{page.split()[1]}")
    return len(page)


@tool(name="job.send", retry=EAGER)
def send(total: int) -> str:
    """Act on the world outside: undeclared, so a side effect."""
    count("send")
    return f"sent {total}"


@workflow(name="job", attempts=50)
async def job(run: Run, act: bool) -> str:
    """Read, note, and perhaps act."""
    found = await run.step("find", find)
    pages = await run.gather(run.step(f"read:{n}", read, n=n) for n in found.value)
    notes = await run.gather(
        run.step(f"note:{n}", note, page=page) for n, page in enumerate(pages)
    )
    total = sum(one.value for one in notes)
    if act:
        return str((await run.step("send", send, total=total)).value)
    return f"total {total}"


def main(home: str, counts: str, kill: str = "", mutant: str = "", act: str = "") -> int:
    """Run or resume the job."""
    os.environ["COUNTS"] = counts
    if mutant:
        from tests.crash import mutants

        mutants.apply(mutant)
    if kill:
        point, _, nth = kill.partition(":")
        kill_at(point, int(nth or 1))
    settings = Settings.load(home, {}, sweep=0.1, workers=3)
    with App.open(settings=settings) as app:
        handle = app.submit(job, key="the-job", act=bool(act))
        while True:
            task = handle.task()
            if task.status is TaskStatus.DONE:
                print("DONE", handle.result(1).value)
                return 0
            if task.status in (TaskStatus.FAILED, TaskStatus.BLOCKED):
                print(task.status, task.reason)
                return 1
            if any(s.status is StepStatus.UNCERTAIN for s in app.store.steps(task.id)):
                print("OPEN")
                return 4
            time.sleep(0.02)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    sys.exit(main(*sys.argv[1:]))
