"""Keeps a number of worker processes at work; one that dies stops no other.

It opens no database and runs no code of a workflow: there is little in it that could fail.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from keptstep.workers.child import Child
from keptstep.workers.restarts import Restarts, ending
from keptstep.workers.supervised import Refusal
from keptstep.workers.wakeups import Wakeups

log = logging.getLogger(__name__)

_AFTER_KILL = 2.0  # seconds: what the system cannot end by then is left to it


@dataclass
class _Place:
    """Where one worker works, or the next one starts."""

    child: Child | None = None
    due: float = 0.0  #: when the next one starts, by the monotonic clock
    restarts: Restarts = field(default_factory=Restarts)


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a supervisor was stopped."""

    by: signal.Signals
    at_once: bool  #: whether a second signal came


class CannotWork(Exception):
    """No worker works, and one said that it never can."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Supervisor:
    """Starts ``processes`` workers by ``command`` and starts each again that dies.

    The wait before a new start is 1 s, doubles up to 60 s, and begins again after a minute of
    life. The first SIGTERM, SIGINT or SIGHUP asks every worker to stop as planned; what has not
    ended ``patience`` seconds later is killed, and at a second signal everything is at once.

    ``command`` is an argument vector whose process tells by ``Link`` when it begins to work, as
    ``keptstep worker`` does. When the supervisor is gone, however it ended, its workers stop as
    planned by themselves.
    """

    def __init__(self, command: Sequence[str], processes: int, *, patience: float) -> None:
        self._command = list(command)
        self._places = [_Place() for _ in range(processes)]
        self._patience = patience
        self._selector = selectors.DefaultSelector()
        self._asked: list[signal.Signals] = []  #: the signals that came
        self._refusal: Refusal | None = None
        self._stopping = False
        self._killed = False
        self._deadline: float | None = None  #: until when the present patience lasts

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that live now."""
        return [child.pid for child in self._children()]

    def run(self, begun: Callable[[], None], stopping: Callable[[], None]) -> Stopped:
        """Keep the workers at work until a signal comes, in the main thread only.

        ``begun`` is called when the first worker works, ``stopping`` when a signal asked to
        stop. Raises ``CannotWork`` when a worker says that it never can and no other works.
        """
        with Wakeups() as wakeups, self._selector:
            self._selector.register(wakeups, selectors.EVENT_READ)
            told = False
            while not self._over():
                self._fill()
                self._selector.select(self._until_due())
                # Before the look: what dies after it has to wake the next wait.
                asked = wakeups.stops()
                for place in self._places:
                    self._look_at(place)
                for number in asked:
                    self._signalled(number, stopping)
                if not told and self._at_work():
                    told = True
                    begun()
                self._enforce()
        if self._refusal is not None:
            raise CannotWork(self._refusal)
        return Stopped(by=self._asked[-1], at_once=len(self._asked) > 1)

    # -- starting ----------------------------------------------------------------------------
    def _fill(self) -> None:
        for place in self._places:
            if place.child is None and not self._stopping and time.monotonic() >= place.due:
                self._start(place)

    def _start(self, place: _Place) -> None:
        try:
            place.child = Child(self._command, os.environ)
        except OSError as error:
            wait = place.restarts.died(0.0)
            place.due = time.monotonic() + wait
            log.warning(
                "a worker could not be started (%s): another try in %g s", error.strerror, wait
            )
            return
        self._selector.register(place.child.line, selectors.EVENT_READ)
        if place.restarts.all:
            log.info("worker %d takes the place of one that died", place.child.pid)

    # -- deaths ------------------------------------------------------------------------------
    def _look_at(self, place: _Place) -> None:
        child = place.child
        if child is None:
            return
        code = child.ended()
        if code is not None:
            self._hear_no_more(child)
            child.clear()
            place.child = None
            self._died(place, child, code)
        elif not child.listen():
            self._hear_no_more(child)

    def _hear_no_more(self, child: Child) -> None:
        if child.line in self._selector.get_map():
            self._selector.unregister(child.line)

    def _died(self, place: _Place, child: Child, code: int) -> None:
        if self._stopping:
            return
        refusal = child.refusal()
        if refusal is not None and refusal.lasting and not self._at_work():
            self._refusal = refusal
            self._stop()
            return
        wait = place.restarts.died(child.lived())
        place.due = time.monotonic() + wait
        log.warning(
            "worker %d %s after %.0f s; the next starts in %g s (death %d in a row, %d in all)",
            child.pid,
            ending(code) if refusal is None else f"cannot work: {refusal.message}",
            child.lived(),
            wait,
            place.restarts.in_a_row,
            place.restarts.all,
        )

    # -- the end -----------------------------------------------------------------------------
    def _signalled(self, number: signal.Signals, stopping: Callable[[], None]) -> None:
        self._asked.append(number)
        if len(self._asked) > 1:
            self._kill()
        elif not self._stopping:
            self._stop()
            stopping()

    def _stop(self) -> None:
        self._stopping = True
        self._deadline = time.monotonic() + self._patience
        for child in self._children():
            child.ask()

    def _enforce(self) -> None:
        if self._killed or self._deadline is None or time.monotonic() < self._deadline:
            return
        for child in self._children():
            log.warning("worker %d did not stop within %g s: killed", child.pid, self._patience)
        self._kill()

    def _kill(self) -> None:
        self._killed = True
        self._deadline = time.monotonic() + _AFTER_KILL
        for child in self._children():
            child.kill()

    def _over(self) -> bool:
        late = self._killed and self._deadline is not None and time.monotonic() >= self._deadline
        return self._stopping and (late or not self._children())

    def _until_due(self) -> float | None:
        """Return how many seconds nothing is to be done for, if nothing happens."""
        dues = [place.due for place in self._places if place.child is None]
        if self._deadline is not None:
            dues = [self._deadline]
        return max(min(dues) - time.monotonic(), 0.0) if dues else None

    # -- who there is ------------------------------------------------------------------------
    def _children(self) -> list[Child]:
        return [place.child for place in self._places if place.child is not None]

    def _at_work(self) -> list[Child]:
        return [child for child in self._children() if child.works]
