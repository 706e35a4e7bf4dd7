"""Proof of death: every living worker holds a lock on a file of its own (DESIGN: recovery).

The operating system lets go of the lock when the process ends, however it ends. Who gets a lock
that another worker of this host must hold has proof that the other is dead.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Collection
from pathlib import Path

from filelock import FileLock, Timeout

from keptstep.models.ids import WorkerId


def host_name() -> str:
    """Return 8 digits that stand for this host in a worker's identity."""
    return hashlib.sha256(f"{uuid.getnode():x}".encode()).hexdigest()[:8]


class Liveness:
    """This worker's lock, and what the locks of others prove."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._host = host_name()
        self.worker = WorkerId(f"{self._host}-{secrets.token_hex(8)}")
        self._lock = FileLock(self._file(self.worker))
        self._lock.acquire(timeout=0)

    def dead(self, owners: Collection[WorkerId]) -> set[WorkerId]:
        """Return those of ``owners`` that are proven dead."""
        return {owner for owner in owners if owner != self.worker and self._is_dead(owner)}

    def forget(self, owner: WorkerId) -> None:
        """Remove the file of a dead worker that owns nothing any more."""
        self._file(owner).unlink(missing_ok=True)

    def others(self) -> set[WorkerId]:
        """Return every other worker of this host that left a file, alive or dead."""
        names = (path.stem for path in self._folder.glob(f"{self._host}-*.lock"))
        return {WorkerId(name) for name in names} - {self.worker}

    def close(self) -> None:
        """Let go of the lock and remove its file: this worker owns nothing any more."""
        self._lock.release()
        self._file(self.worker).unlink(missing_ok=True)

    def _is_dead(self, owner: WorkerId) -> bool:
        file = self._file(owner)
        # Of another host, or with its file gone, nothing is proven: its lease has to end.
        if not owner.startswith(f"{self._host}-") or not file.exists():
            return False
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        lock.release()
        return True

    def _file(self, owner: WorkerId) -> Path:
        return self._folder / f"{owner}.lock"
