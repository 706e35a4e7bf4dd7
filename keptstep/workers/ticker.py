"""A thread that does one thing again and again, whatever it raises, until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from keptstep.models.errors import StoreError
from keptstep.workflows.failures import place_of

log = logging.getLogger(__name__)


class Ticker:
    """Runs ``work`` every ``every`` seconds; ``at_once`` also when it is started, ``at_end``
    also when it is stopped."""

    def __init__(
        self,
        name: str,
        every: float,
        work: Callable[[], None],
        *,
        at_once: bool = False,
        at_end: bool = False,
    ) -> None:
        self._name = name
        self._every = every
        self._work = work
        self._at_once = at_once
        self._at_end = at_end
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"keptstep-{name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Run it no more; a run that is under way is waited for."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        if self._at_once:
            self._tick()
        while not self._stop.wait(self._every):
            self._tick()
        if self._at_end:
            self._tick()

    def _tick(self) -> None:
        try:
            self._work()
        except StoreError as error:
            log.warning("the %s did not get through, trying again soon: %s", self._name, error)
        except Exception as error:  # whatever it is, a process without this would be worse
            log.error("the %s did not get through: %s", self._name, place_of(error))
