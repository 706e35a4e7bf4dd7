"""Being asked to stop: the first signal ends the work as planned, the second ends it at once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from keptstep.ops.exits import ExitCode

#: Signal -> the exit code it leads to, and its name as a person knows it.
SIGNALS = {
    signal.SIGINT: (ExitCode.INTERRUPTED, "Ctrl-C"),
    signal.SIGTERM: (ExitCode.TERMINATED, "SIGTERM"),
    signal.SIGHUP: (ExitCode.HUNG_UP, "SIGHUP"),
}


class Stop:
    """Whether somebody asked this process to stop. The handler only notes it, so that no signal
    can tear a transaction or a print apart."""

    def __init__(self) -> None:
        self._asked: signal.Signals | None = None
        self._by: str | None = None

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self._asked is not None

    @property
    def code(self) -> ExitCode:
        """The exit code of the signal that came."""
        return SIGNALS[self._asked or signal.SIGINT][0]

    @property
    def by(self) -> str:
        """The signal's name, as a person knows it, or who else asked."""
        return self._by or SIGNALS[self._asked or signal.SIGINT][1]

    def ask(self, by: str) -> None:
        """Ask as the first SIGTERM would; nothing if somebody asked before."""
        if self._asked is None:
            self._by = by
            self._asked = signal.SIGTERM

    def pause(self, seconds: float) -> None:
        """Wait, at most a moment longer than until somebody asks."""
        end = time.monotonic() + seconds
        while not self.asked and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Note the first signal; at the second, end the process where it stands."""
        if self._asked is not None:
            os.write(2, b"stopped at once; what is kept stays kept\n")
            os._exit(int(SIGNALS[signal.Signals(number)][0]))
        self._asked = signal.Signals(number)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Take the signals over for a while; one that was being ignored stays ignored."""
    stop = Stop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, stop.handle)
    try:
        yield stop
    finally:
        for number in taken:
            signal.signal(number, before[number])
