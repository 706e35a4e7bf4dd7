"""The processes a crash test kills: ``python -m keptstep.testing.crash.child TARGET INPUT CALLS``.

It loads TARGET (``module:name`` of a tool or workflow) once and tells on stdout what that is.
Then each line on stdin is an errand, done in a fork. A module that started threads cannot be
forked: then one errand is done in this process itself. All answers are lines of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from keptstep.app import App
from keptstep.config import Settings
from keptstep.models import points
from keptstep.models.errors import KeptstepError
from keptstep.models.states import TASK_FINISHED, TaskStatus
from keptstep.testing.crash.records import Errand
from keptstep.testing.crash.target import Target, count_calls, find, subject_of
from keptstep.workflows.definition import Workflow, workflow
from keptstep.workflows.failures import place_of
from keptstep.workflows.handle import Handle
from keptstep.workflows.kernel import verdict_needed
from keptstep.workflows.run import Run

_KEY = "the-crash-test"
_ANY_PROCESS = 0xFFFFFFFFFFFFFFFF  #: PR_SET_PTRACER_ANY
_SET_TRACER = 0x59616D61  #: PR_SET_PTRACER


@workflow(name="keptstep.crash-test", attempts=50)
async def alone(run: Run, tool: str, given: dict[str, Any]) -> None:
    """Run one tool as the one step of a task."""
    await run.step("call", tool, **given)


# -- an errand -------------------------------------------------------------------------------
def do(errand: Errand, found: Target, inputs: dict[str, Any]) -> None:
    """Do an errand to its end, if this process lives to see it."""
    if errand.points:
        points.listen(_listener(errand))
    app = App.open(settings=_settings(errand))
    if errand.prepare:
        app.close()
        return
    if errand.gate:
        # What a worker does at its start is not the step's: its calls would be counted before.
        app.start()
        _wait_for_tracer(errand.gate)
    if isinstance(found, Workflow):
        handle = app.submit(found, key=_KEY, **inputs)
    else:
        handle = app.submit(alone, key=_KEY, tool=found.name, given=inputs)
    app.start()
    while _goes_on(app, handle):
        time.sleep(0.01)
    if errand.points:
        # Other threads are still at what follows the commit, and a late call at its end: every
        # point they are on their way to is to be reached.
        app.close()


def _settings(errand: Errand) -> Settings:
    # One that is to die sweeps at its start only, so that each step is rung for once, at a
    # moment that does not depend on how busy the machine is.
    sweep = 5.0 if errand.points else 0.1
    given = {"sweep": sweep, "workers": 2, "lease": errand.lease} | errand.settings
    return Settings.load(errand.home, {}, **given)


def _goes_on(app: App, handle: Handle) -> bool:
    """Whether the task can still move without a person."""
    task = handle.task()
    if task.status in TASK_FINISHED or task.status is TaskStatus.BLOCKED:
        return False
    return verdict_needed(app.store.unfinished(task.id)) is None


def _listener(errand: Errand) -> Callable[[str], None]:
    file = os.open(errand.points, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    lock = threading.Lock()
    left = errand.nth

    def listener(name: str) -> None:
        nonlocal left
        with lock:
            # Not os.write: a tracer counts calls by their name, and this one is not the engine's.
            os.writev(file, [f"{name}\n".encode()])
            if name != errand.kill:
                return
            left -= 1
            if left != 0:
                return
            if not errand.pause:
                os.kill(os.getpid(), signal.SIGKILL)
        # To this very thread, so that it goes no further before the process stands still.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    return listener


def _wait_for_tracer(gate: str) -> None:
    import ctypes

    # Where only a parent may trace, this lets the test's own tracer in.
    ctypes.CDLL(None).prctl(_SET_TRACER, ctypes.c_ulong(_ANY_PROCESS))
    file = os.open(gate, os.O_RDONLY)
    # From here to the first byte nothing is called that a tracer would count.
    Path(f"{gate}.waits").touch()
    os.read(file, 1)
    os.close(file)


# -- the process -----------------------------------------------------------------------------
def main(target: str, given: str, calls: str) -> None:
    """Load the target, then do the errands that come in."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what the module prints is not for the harness

    def say(answer: Mapping[str, Any]) -> None:
        os.write(answers, (json.dumps(answer) + "\n").encode())

    try:
        found = find(target)
        inputs: dict[str, Any] = json.loads(given)
        found.signature.check(target, inputs)
    except KeptstepError as error:
        say({"error": str(error)})
        return
    count_calls(calls)
    say(asdict(subject_of(target, found)))
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            say(_waited(order["wait"]))
            continue
        errand = Errand(**order)
        pid = os.fork() if errand.fork else 0
        if pid:
            say({"pid": pid})
            continue
        os.close(answers)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the errands are not for the tool
        _do_and_end(errand, found, inputs)


def _waited(pid: int) -> dict[str, Any]:
    """Wait until a child ended or was stopped."""
    status = os.waitpid(pid, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        return {"stopped": True}
    return {"ended": os.waitstatus_to_exitcode(status)}


def _do_and_end(errand: Errand, found: Target, given: dict[str, Any]) -> None:
    code = 1
    try:
        do(errand, found, given)
        code = 0
    except KeptstepError as error:
        Path(errand.failed).write_text(str(error))
    except BaseException as error:
        Path(errand.failed).write_text(f"{type(error).__name__} {place_of(error)}")
    os._exit(code)  # as a crash would: nothing is given back, nothing is waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
