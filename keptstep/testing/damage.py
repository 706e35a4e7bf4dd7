"""Damage kept payloads behind a store's back, as disks and people do."""

from __future__ import annotations

import os
from pathlib import Path

from keptstep.models.ids import Sha256
from keptstep.models.stores.artifacts_memory import MemoryArtifactStore


def file_of(root: Path, sha: Sha256) -> Path:
    """Return where a ``FileArtifactStore`` in ``root`` keeps a payload."""
    return root / sha[:2] / sha


def tamper_file(root: Path, sha: Sha256) -> None:
    """Flip the last bit of a payload's file; its size and its rights stay."""
    path = file_of(root, sha)
    mode = path.stat().st_mode
    path.chmod(0o600)
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    path.chmod(mode)


def drop_file(root: Path, sha: Sha256) -> None:
    """Take a payload's file away."""
    file_of(root, sha).unlink()


class FragileMemoryStore(MemoryArtifactStore):
    """A ``MemoryArtifactStore`` whose payloads can be damaged."""

    def tamper(self, sha: Sha256) -> None:
        """Flip the last bit of a payload."""
        with self._lock:
            data = self._payloads[sha]
            self._payloads[sha] = data[:-1] + bytes([data[-1] ^ 1])

    def drop(self, sha: Sha256) -> None:
        """Take a payload away."""
        with self._lock:
            del self._payloads[sha]
