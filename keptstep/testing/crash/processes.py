"""Starting the processes that a crash test kills, and waiting for their end."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keptstep.models.errors import BadInput, KeptstepError
from keptstep.testing.crash.records import Errand, Subject

#: Seconds for a module to load.
_LOAD = 120.0
KILLED = -int(signal.SIGKILL)


class DidNotEnd(KeptstepError):
    """A process of a crash test did not come to its end in the time given."""


class Failed(KeptstepError):
    """A process of a crash test ended by itself, and not well."""


class Nursery:
    """Starts processes on one target; each is a fork of one that has loaded its module.

    Where the module started threads, and with ``fresh``, each is a new interpreter instead.
    """

    def __init__(
        self,
        target: str,
        inputs: Mapping[str, object],
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        self.calls = folder / "calls"
        self._failed = folder / "failed"
        self._log = folder / "log"
        self._command = [sys.executable, "-m", "keptstep.testing.crash.child", target]
        self._command += [json.dumps(dict(inputs)), str(self.calls)]
        self._env = {**os.environ, **(env or {})}
        self._running: set[int] = set()
        self._mother = self._spawn()
        try:
            told = self._answer(self._mother, _LOAD)
            self.subject = _subject(told)
            if fresh:
                self.subject = replace(self.subject, forks=False)
        except BaseException:
            self._end(self._mother)
            raise

    def start(self, errand: Errand) -> Child:
        """Start an errand in a process of its own."""
        errand = replace(errand, failed=str(self._failed))
        if self.subject.forks:
            self._tell(self._mother, asdict(errand))
            return Child(self, self._mother, self._answer(self._mother, _LOAD)["pid"], forked=True)
        process = self._spawn()
        self._answer(process, _LOAD)
        self._tell(process, asdict(replace(errand, fork=False)))
        return Child(self, process, process.pid, forked=False)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process that is left."""
        for pid in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._end(self._mother)

    @property
    def reason(self) -> str:
        """Why the process that failed last did so, in words without payload."""
        return self._failed.read_text() if self._failed.exists() else "it gave no reason"

    def began(self, pid: int) -> None:
        """Remember a process that has to be gone when the test is over."""
        self._running.add(pid)

    def wait(self, child: Child, seconds: float) -> int | None:
        """Return a process's exit code, negative for a signal, ``None`` when it was stopped.

        Raises ``DidNotEnd``.
        """
        code: int | None = None
        try:
            if child.forked:
                self._tell(child.process, {"wait": child.pid})
                code = self._answer(child.process, seconds).get("ended")
            else:
                code = child.process.wait(seconds)
        except (DidNotEnd, subprocess.TimeoutExpired):
            os.kill(child.pid, signal.SIGKILL)
            if child.forked:
                self._answer(child.process, _LOAD)
            else:
                child.process.wait()
            self._running.discard(child.pid)
            raise DidNotEnd(f"it did not come to an end within {seconds:.0f} s") from None
        if code is not None:
            self._running.discard(child.pid)
        return code

    # -- the processes -----------------------------------------------------------------------
    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own module
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._env,
                bufsize=0,
            )

    def _tell(self, process: subprocess.Popen[bytes], order: dict[str, Any]) -> None:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.write((json.dumps(order) + "\n").encode())

    def _answer(self, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        if not select.select([process.stdout], [], [], seconds)[0]:
            raise DidNotEnd(f"a process gave no answer within {seconds:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise Failed("a process of the crash test ended before its work began")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Child:
    """One process of a crash test."""

    def __init__(
        self, nursery: Nursery, process: subprocess.Popen[bytes], pid: int, *, forked: bool
    ) -> None:
        self.pid = pid
        self.process = process
        self.forked = forked
        self._nursery = nursery
        nursery.began(pid)

    def wait(self, seconds: float) -> int | None:
        """Return its exit code, negative for a signal, or ``None`` when it was stopped.

        One that does not end within ``seconds`` is killed, and ``DidNotEnd`` raised.
        """
        code = self._nursery.wait(self, seconds)
        if not self.forked:
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
        return code

    def go_on(self) -> None:
        """Wake a stopped process."""
        os.kill(self.pid, signal.SIGCONT)


def _subject(told: Mapping[str, Any]) -> Subject:
    if "error" in told:
        raise BadInput(told["error"])
    return Subject(**told)
