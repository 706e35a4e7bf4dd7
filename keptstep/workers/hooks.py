"""The user's hook: a command, or an address that is posted to. Each call is a process of its own,
so that whatever hangs in it can be cut."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from keptstep.config import Settings
from keptstep.workers.restarts import ending

TIMEOUT = 10.0  #: seconds one call may take

_POST = Path(__file__).with_name("post.py")
_MOST_SAID = 200  # characters


class NotDelivered(Exception):
    """A call of the hook failed; the message says how, without a secret of its settings."""


class Hook(Protocol):
    """What is called with a document."""

    def deliver(self, document: str) -> None:
        """Call it once; raises ``NotDelivered``."""
        ...

    def close(self) -> None:
        """Cut the call that is under way, if one is, and refuse those to come."""
        ...


class CommandHook:
    """Runs a command with the document on its stdin; exit code 0 means delivered."""

    def __init__(self, command: Sequence[str], timeout: float = TIMEOUT) -> None:
        self._command = command
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def deliver(self, document: str) -> None:
        """Run it once; raises ``NotDelivered``."""
        # What it prints may quote a secret, and nobody would read it.
        code, _ = self._run(document, stdout=subprocess.DEVNULL)
        if code != 0:
            raise NotDelivered(f"the command {ending(code)}")

    def close(self) -> None:
        """Kill the run that is under way, and let no other begin."""
        self._closed = True
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _run(self, given: str, stdout: int) -> tuple[int, str | None]:
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell
                self._command,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise NotDelivered(f"the command could not be started ({error.strerror})") from None
        self._process = process
        with process:
            if self._closed:
                self._kill()
            try:
                said, _ = process.communicate(given, timeout=self._timeout)
            except subprocess.TimeoutExpired:
                self._kill()
                raise NotDelivered(f"it took longer than {self._timeout:g} s: cut") from None
        self._process = None
        return process.returncode, said


class WebHook(CommandHook):
    """Posts the document to an address; an answer of 2xx means delivered."""

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        super().__init__([sys.executable, "-I", str(_POST)], timeout)
        self._url = url

    def deliver(self, document: str) -> None:
        """Post it once; raises ``NotDelivered``."""
        given = json.dumps({"url": self._url, "document": document})
        code, said = self._run(given, stdout=subprocess.PIPE)
        if code != 0:
            raise NotDelivered(
                (said or "")[:_MOST_SAID] or f"the process that posts {ending(code)}"
            )


def hook_of(settings: Settings, timeout: float = TIMEOUT) -> Hook | None:
    """Return the hook that the settings name, or ``None``."""
    if settings.notify_command:
        return CommandHook(shlex.split(settings.notify_command), timeout)
    return WebHook(settings.notify_url, timeout) if settings.notify_url else None
