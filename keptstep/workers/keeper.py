"""The lease keeper: one thread renews what this process holds, three times in a lease (D5)."""

from __future__ import annotations

import logging
import threading

from keptstep.models.errors import StoreError
from keptstep.models.ids import WorkerId
from keptstep.workflows.held import Held
from keptstep.workflows.ports import TaskStore

log = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews leases until it is stopped."""

    def __init__(self, store: TaskStore, held: Held, worker: WorkerId, lease: float) -> None:
        self._store = store
        self._held = held
        self._worker = worker
        self._lease = lease
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="keptstep-lease", daemon=True)

    def start(self) -> None:
        """Begin to renew."""
        self._thread.start()

    def stop(self) -> None:
        """Renew no more; the leases held end by themselves."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def renew(self) -> None:
        """Renew everything held now, and forget what turned out to be lost."""
        steps = [lease.step.id for lease in self._held.steps()]
        tasks = [lease.task.id for lease in self._held.tasks()]
        if not steps and not tasks:
            return
        lost = self._store.renew(self._worker, self._lease, steps, tasks)
        for kind, gone in (("step", lost.steps), ("task", lost.tasks)):
            for identity in gone:
                log.debug("the lease of %s %s is no longer held here", kind, identity.hex())
        self._held.forget(lost)

    def _serve(self) -> None:
        while not self._stop.wait(self._lease / 3):
            try:
                self.renew()
            except StoreError as error:
                log.warning("leases were not renewed, trying again soon: %s", error)
            except Exception:  # a process that renews no more would lose all it holds
                log.exception("leases were not renewed, trying again soon")
