"""One worker process, as the supervisor sees it that started it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from keptstep.workers.supervised import VARIABLE, Refusal

#: What a command line ends with that cannot be taken; trying it again would not help.
_USAGE = 2


class Child:
    """A worker in a session of its own, so that a terminal's Ctrl-C reaches it once only."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start it. Raises ``OSError`` if the system refuses."""
        self.works = False  #: whether it told that its work began
        self._told: Refusal | None = None
        self._unread = b""
        self._began = time.monotonic()
        self.line, theirs = socket.socketpair()
        self.line.setblocking(False)
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - no shell; the command is ours
                    command,
                    stdin=subprocess.DEVNULL,
                    env={**environ, VARIABLE: str(theirs.fileno())},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                self.line.close()
                raise

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._process.pid

    def ended(self) -> int | None:
        """Return its exit code, or the signal as a negative one; ``None`` while it lives."""
        return self._process.poll()

    def clear(self) -> None:
        """Hear what it told last, and end what it left behind in its group.

        The next worker repeats what may be repeated, and must not meet this one's subprocess
        at it.
        """
        self.listen()
        self.line.close()
        self.kill()

    def lived(self) -> float:
        """Return how many seconds ago it started."""
        return time.monotonic() - self._began

    def refusal(self) -> Refusal | None:
        """Why it could not begin its work, if it ended for that."""
        if self._told is None and not self.works and self._process.returncode == _USAGE:
            return Refusal(_USAGE, "Usage", "its error stands above")
        return self._told

    def listen(self) -> bool:
        """Take in what it told; return whether there may be more to come."""
        try:
            told = self.line.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        *lines, self._unread = (self._unread + told).split(b"\n")
        for line in lines:
            self._take(line)
        return bool(told)

    def ask(self) -> None:
        """Ask it to stop as planned."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, and what it started in its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _take(self, line: bytes) -> None:
        with suppress(ValueError, TypeError, KeyError):  # of another version: its end tells
            document = json.loads(line)
            if "refusal" in document:
                self._told = Refusal.of(document["refusal"])
            else:
                self.works = True
