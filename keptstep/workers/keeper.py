"""The lease keeper: renews what this process holds (D5); called three times in a lease."""

from __future__ import annotations

import logging

from keptstep.models.ids import WorkerId
from keptstep.workflows.held import Held
from keptstep.workflows.ports import TaskStore

log = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews the leases of one worker."""

    def __init__(self, store: TaskStore, held: Held, worker: WorkerId, lease: float) -> None:
        self._store = store
        self._held = held
        self._worker = worker
        self._lease = lease

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
