"""Hearing from other processes that there is news of a task."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keptstep.models.ids import TaskId
from keptstep.workers.lease_broker.outage import FIRST, LAST
from keptstep.workflows.failures import place_of

if TYPE_CHECKING:
    import redis

log = logging.getLogger(__name__)

#: Seconds one look for a message lasts: how long a stop may take.
_LOOK = 0.5
_SAID = re.compile(rb"(?P<worker>[!-~]{1,64}) (?P<task>[0-9a-f]{32})")


class News:
    """Listens to a channel in a thread of its own, through every outage.

    ``heard`` gets a task that another than ``worker`` has news of. ``missed`` is called each time
    listening begins (anew): what was said before was not heard. Neither may block long.
    """

    def __init__(
        self,
        client: redis.Redis,
        channel: str,
        worker: str,
        heard: Callable[[TaskId], None],
        missed: Callable[[], None],
    ) -> None:
        self._client = client
        self._channel = channel
        self._worker = worker
        self._heard = heard
        self._missed = missed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="keptstep-news", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Listen no more; the thread ends with its present look."""
        self._stopping.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _serve(self) -> None:
        pause = FIRST
        while not self._stopping.is_set():
            try:
                listening = self._client.pubsub()  # type: ignore[no-untyped-call]
                with listening:
                    listening.subscribe(self._channel)
                    while not self._stopping.is_set():
                        self._take(listening.get_message(timeout=_LOOK))
                        pause = FIRST
            except Exception as error:  # of the driver, or ours: this thread must go on
                log.debug("news of tasks cannot be heard: %s", place_of(error))
                self._stopping.wait(pause)
                pause = min(2 * pause, LAST)

    def _take(self, message: Any) -> None:
        if message is None:
            return
        if message["type"] == "subscribe":
            self._missed()
        elif message["type"] == "message":
            said = _SAID.fullmatch(message["data"])
            if said is not None and said["worker"] != self._worker.encode():
                self._heard(TaskId(bytes.fromhex(said["task"].decode())))
