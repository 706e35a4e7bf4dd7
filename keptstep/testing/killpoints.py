"""End this process at a named point of the step protocol, as a crash would.

``python -m keptstep.testing.killpoints POINT[:N] -- ARGUMENTS`` runs ``keptstep ARGUMENTS`` and
kills it when it reaches POINT for the N-th time (the first, if N is not given).
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from keptstep.models import points
from keptstep.models.errors import BadInput

_USAGE = "usage: python -m keptstep.testing.killpoints POINT[:N] -- ARGUMENTS"


def kill_at(point: str, nth: int = 1) -> None:
    """Have this process killed, with nothing said or tidied, at its ``nth`` reach of ``point``.

    Takes the place of the listener there was. Raises ``BadInput`` for a point that does not
    exist and for ``nth`` below 1.
    """
    if point not in points.POINTS:
        raise BadInput(f"no point is called {point!r}: there are {', '.join(points.POINTS)}")
    if nth < 1:
        raise BadInput(f"a point is reached for the first time at 1, not {nth}")
    left = nth
    lock = threading.Lock()

    def listener(name: str) -> None:
        nonlocal left
        if name != point:
            return
        with lock:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    points.listen(listener)


def trace_points(path: Path) -> None:
    """Have each point this process reaches appended to ``path``, one name a line.

    Several processes may write one file: a line is one write. Takes the place of the listener
    there was.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def listener(name: str) -> None:
        os.write(file, f"{name}\n".encode())

    points.listen(listener)


def main(arguments: Sequence[str]) -> None:
    """Install the kill point that is named first, then become ``python -m keptstep``.

    Raises ``SystemExit`` with what is wrong with the arguments.
    """
    if "--" not in arguments[1:2]:
        raise SystemExit(_USAGE)
    point, _, count = arguments[0].partition(":")
    try:
        kill_at(point, int(count or 1))
    except (BadInput, ValueError) as error:
        raise SystemExit(f"{error}\n{_USAGE}") from None
    sys.argv = ["keptstep", *arguments[2:]]
    runpy.run_module("keptstep", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
