"""Proof of death: every living worker holds a lock on a file of its own (DESIGN: recovery).

The operating system lets go of the lock when the process ends, however it ends. Who gets a lock
that another worker of this host must hold has proof that the other is dead.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import uuid
from collections.abc import Collection
from pathlib import Path

from keptstep.models.ids import WorkerId

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def host_name() -> str:
    """Return 8 digits that stand for this host in a worker's identity.

    Where the kernel has a name for its present run (Linux) that is it: file locks reach just as
    far. Elsewhere it is the address of a network card.
    """
    try:
        name = _BOOT.read_text().strip()
    except OSError:
        name = f"{uuid.getnode():x}"
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def proven_dead(folder: Path, owner: WorkerId) -> bool:
    """Whether a worker is proven dead by its lock file in ``folder``.

    Of a worker of another host, or one whose file is gone, nothing is proven: its lease has to
    end by itself.
    """
    if not owner.startswith(f"{host_name()}-"):
        return False
    try:
        file = os.open(_lock_file(folder, owner), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


def _lock_file(folder: Path, owner: WorkerId) -> Path:
    return folder / f"{owner}.lock"


class Liveness:
    """This worker's lock, and what the locks of others prove."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._host = host_name()
        self.worker = WorkerId(f"{self._host}-{secrets.token_hex(8)}")
        # Locked under another name first: a sweeper that found it unlocked would call it dead.
        starting = self._folder / f"{self.worker}.starting"
        self._lock = os.open(starting, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        starting.rename(self._file(self.worker))

    def dead(self, owners: Collection[WorkerId]) -> set[WorkerId]:
        """Return those of ``owners`` that are proven dead."""
        others = set(owners) - {self.worker}
        return {owner for owner in others if proven_dead(self._folder, owner)}

    def forget(self, owner: WorkerId) -> None:
        """Remove the file of a dead worker that owns nothing any more."""
        self._file(owner).unlink(missing_ok=True)

    def others(self) -> set[WorkerId]:
        """Return every other worker of this host that left a file, alive or dead."""
        names = (path.stem for path in self._folder.glob(f"{self._host}-*.lock"))
        return {WorkerId(name) for name in names} - {self.worker}

    def close(self, *, owns_nothing: bool = True) -> None:
        """Let go of the lock.

        Its file goes too if this worker owns nothing any more; otherwise it stays as the proof
        that the owner is dead.
        """
        if owns_nothing:
            self._file(self.worker).unlink(missing_ok=True)
        os.close(self._lock)

    def _file(self, owner: WorkerId) -> Path:
        return _lock_file(self._folder, owner)
