"""``make demo``: the main job on real documents, killed with -9 in the middle, then resumed.

The documents are the installed source files of dramatiq, the queue keptstep runs on. Nothing
leaves this machine and nothing is fetched. Ends with 1 if a finished step was run again.
"""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from keptstep import App, ArtifactRef
from keptstep.models.records import Step, Task
from keptstep.models.states import StepStatus, TaskStatus

QUESTION = "How does dramatiq decide how long to wait before it retries a message?"
#: The process kills itself at this boundary: when so many calls have returned, and this last
#: result is not kept yet.
KILL_AT = "call.returned:60"
SHOWN_LINES = 48


@dataclass(frozen=True)
class Picture:
    """What the database says at one moment."""

    task: Task
    steps: dict[str, Step]
    calls: dict[str, int]  #: attempts that were started, by step

    def done(self) -> dict[str, Step]:
        """Return the finished steps."""
        return {n: s for n, s in self.steps.items() if s.status is StepStatus.DONE}


def main() -> int:
    """Run the demo; returns the exit code."""
    # Left in place, to be looked at; the system's folder for temporary files forgets it.
    return demo(Path(tempfile.mkdtemp(prefix="keptstep-demo-")))


def demo(home: Path) -> int:
    """Research, be killed, resume, compare."""
    sources = documents()
    research = ["research", QUESTION, "--source", str(sources), "--home", str(home)]
    say("1", f"a research task over {sources.name}'s source files, killed with -9 in the middle")
    command = [sys.executable, "-m", "keptstep.testing.killpoints", KILL_AT, "--", *research]
    killed = run(command, home / "research.log")
    if killed != -signal.SIGKILL:
        print(f"it was to be killed and ended with {killed}:")
        print((home / "research.log").read_text())
        return 1
    before = look(home)
    cut = sorted(name for name, step in before.steps.items() if step.status is StepStatus.RUNNING)
    planned = len(before.steps)
    print(f"   killed. Kept so far: {len(before.done())} finished steps, {planned} planned;")
    print(f"   cut in the middle of a call: {', '.join(cut) or 'none'}")

    say("2", "keptstep resume")
    resumed = run(
        [sys.executable, "-m", "keptstep", "resume", "--home", str(home)], home / "resume.log"
    )
    after = look(home)
    if resumed != 0 or after.task.status is not TaskStatus.DONE:
        print((home / "resume.log").read_text())
        return 1
    return compare(home, before, after, cut)


def compare(home: Path, before: Picture, after: Picture, cut: list[str]) -> int:
    """Say what was not done again, and show the report."""
    again = [name for name in before.done() if after.calls[name] != before.calls[name]]
    changed = [
        name
        for name, step in before.done().items()
        if after.steps[name].artifact_id != step.artifact_id
    ]
    fresh = len(after.steps) - len(before.done()) - len(cut)
    print(f"   done: {len(after.done())} steps")
    print(f"   not done again: {len(before.done()) - len(again)} steps that were finished")
    print(f"   called again, because the kill cut them and they only read: {len(cut)} steps")
    print(f"   done for the first time: {fresh} steps")
    if again or changed:
        print(f"   FINISHED STEPS WERE RUN AGAIN: {', '.join(sorted({*again, *changed}))}")
        return 1

    say("3", "the report, its beginning")
    lines = report(home, after.task).splitlines()
    for line in lines[:SHOWN_LINES]:
        print(f"   {line}".rstrip())
    print(f"   ... {len(lines) - SHOWN_LINES} more lines")
    say("4", "look at what was kept, then try it on your own files")
    print("   . .venv/bin/activate")
    print(f"   export KEPTSTEP_HOME={home}   # or leave it out, for a home of your own")
    print(f"   keptstep show {after.task.id.hex()[-8:]}; keptstep read {after.task.id.hex()[-8:]}")
    print('   keptstep research "your question" --source some/folder')
    return 0


def documents() -> Path:
    """Return the folder of dramatiq's installed source."""
    found = importlib.util.find_spec("dramatiq")
    if found is None or found.origin is None:
        raise SystemExit("dramatiq is not installed here: run `make setup` first")
    return Path(found.origin).parent


def run(command: list[str], log: Path) -> int:
    """Run a command with its output in a file; returns how it ended."""
    with log.open("w") as output:
        ended = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
    return ended.returncode


def look(home: Path) -> Picture:
    """Return what the database says now."""
    app = App.open(home)
    try:
        task = app.store.tasks()[0]
        steps = app.store.steps(task.id)
        calls = {step.name: len(app.store.attempts(step.id)) for step in steps}
        return Picture(task, {step.name: step for step in steps}, calls)
    finally:
        app.close()


def report(home: Path, task: Task) -> str:
    """Return the text of the task's result."""
    app = App.open(home)
    try:
        if task.artifact_id is None:
            raise SystemExit("the task has no result")
        ref: ArtifactRef = app.store.artifact(task.artifact_id)
        return app.artifacts.read(ref.sha).decode()
    finally:
        app.close()


def say(number: str, text: str) -> None:
    """Print a heading."""
    print(f"\n{number}. {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
