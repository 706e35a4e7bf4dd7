"""Signals as something to wait for: a descriptor that is readable when one came."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from types import FrameType
from typing import Any, Self

#: The signals that ask a process to stop.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Wakeups:
    """Takes over the signals that ask to stop, and the one of a child's end, for a while.

    A signal that was being ignored stays ignored (``nohup``). None can be missed between a look
    and a wait: the interpreter writes its number into a pipe when it comes. For the main thread
    only; raises ``ValueError`` elsewhere.
    """

    def __enter__(self) -> Self:
        """Take the signals over."""
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        try:
            self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        except ValueError:
            self._close()
            raise
        before = {number: signal.getsignal(number) for number in STOPS}
        taken = [number for number, how in before.items() if how is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, _noted) for number in taken}
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _noted)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        for number, how in self._before.items():
            signal.signal(number, signal.SIG_DFL if how is None else how)
        signal.set_wakeup_fd(self._wakeup)
        self._close()

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._reader

    def stops(self) -> Collection[signal.Signals]:
        """Return the signals that asked to stop since the last look, in their order."""
        try:
            numbers = os.read(self._reader, 4096)
        except BlockingIOError:
            return ()
        return [signal.Signals(number) for number in numbers if number in STOPS]

    def _close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)

    _before: dict[signal.Signals, Any]


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: that a handler is there makes the interpreter write the number."""
