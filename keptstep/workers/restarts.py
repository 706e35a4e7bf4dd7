"""When a worker process that died is started again, and how its end is told."""

from __future__ import annotations

import signal

FIRST = 1.0  #: seconds before the first new start
LONGEST = 60.0  #: seconds before a new start at most, however often it died
STEADY = 60.0  #: seconds of life after which earlier deaths do not count
_DOUBLINGS = 6  # 2 ** 6 seconds are beyond the longest wait


class Restarts:
    """The deaths in one place of a supervisor."""

    def __init__(self) -> None:
        self.all = 0  #: deaths since the supervisor began
        self.in_a_row = 0  #: deaths without a minute of life between them

    def died(self, lived: float) -> float:
        """Count a death after ``lived`` seconds; return the seconds to wait before a new start."""
        self.all += 1
        self.in_a_row = 1 if lived >= STEADY else self.in_a_row + 1
        return min(FIRST * 2.0 ** min(self.in_a_row - 1, _DOUBLINGS), LONGEST)


def ending(returncode: int) -> str:
    """Return how a process ended, in words: its exit code, or the signal as a negative one."""
    if returncode == 0:
        return "ended as if it had been asked to stop"
    if returncode > 0:
        return f"ended with exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    by_whom = " (by hand, or by the system for want of memory)" if name == "SIGKILL" else ""
    return f"was killed by {name}{by_whom}"
