"""A worker's line to the supervisor that started it: what it tells, and that the other is there.

The line is a pair of sockets. Nobody else holds the supervisor's end, so the system closes it
when the supervisor ends, however it ends.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, MutableMapping
from dataclasses import asdict, dataclass
from typing import Any

from keptstep.models.errors import BadInput

#: The variable through which a supervisor names the line's descriptor to its worker.
VARIABLE = "KEPTSTEP_SUPERVISOR"

#: What a worker ends with that lost its supervisor and does not come to an end by itself.
_ALONE = 143


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a worker cannot do its work: what it would have told a person itself.

    ``lasting``: trying again would not help.
    """

    code: int
    kind: str
    message: str
    hints: tuple[str, ...] = ()
    lasting: bool = True

    @classmethod
    def of(cls, document: Any) -> Refusal:
        """Return what a line of the worker says; raises ``TypeError`` for anything else."""
        return cls(**{**document, "hints": tuple(document["hints"])})


class Link:
    """The worker's end of the line."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._gone: Callable[[], None] = lambda: os._exit(_ALONE)
        self._within = 0.0
        threading.Thread(target=self._watch, name="keptstep-supervised", daemon=True).start()

    @classmethod
    def adopt(cls, environ: MutableMapping[str, str] | None = None) -> Link | None:
        """Take the line over that the environment names; ``None`` without a supervisor.

        The variable is taken out, so that no process started from here takes it for its own.
        Raises ``BadInput`` if it names no line.
        """
        named = (os.environ if environ is None else environ).pop(VARIABLE, None)
        if named is None:
            return None
        try:
            line = socket.socket(fileno=int(named))
        except (ValueError, OSError):
            raise BadInput(f"{VARIABLE} is set by keptstep worker --processes: unset it") from None
        line.set_inheritable(False)
        return cls(line)

    def working(self, gone: Callable[[], None], within: float) -> None:
        """Tell that the work begins.

        ``gone`` is called when the supervisor is no more; a process that has not ended
        ``within`` seconds after that is ended where it stands. Before this call it is ended
        at once: nothing was begun.
        """
        self._within = within
        self._gone = gone
        self._tell({"working": True})

    def refuse(self, refusal: Refusal) -> bool:
        """Tell why this worker ends; return whether the supervisor could be told."""
        return self._tell({"refusal": asdict(refusal)})

    def _tell(self, document: dict[str, Any]) -> bool:
        try:
            self._line.sendall(json.dumps(document).encode() + b"\n")
        except OSError:  # it is gone, which the watch notices too
            return False
        return True

    def _watch(self) -> None:
        try:
            while self._line.recv(64):
                pass
        except OSError:
            pass  # as good as closed
        self._gone()
        time.sleep(self._within)
        os._exit(_ALONE)
