"""Payloads in memory: the twin of the file store, for tests and trials."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable
from typing import BinaryIO

from keptstep.models import points
from keptstep.models.artifacts import Blob
from keptstep.models.canonical import sha256
from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing
from keptstep.models.ids import Sha256
from keptstep.models.stores.artifact_rules import Intake, corrupt, is_sha, missing


class MemoryArtifactStore:
    """An ``ArtifactStore`` that forgets everything with its process.

    ``max_bytes`` is the largest payload it keeps. Errors and points are those of the file store.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._payloads: dict[Sha256, bytes] = {}
        self._lock = threading.Lock()

    def put(self, chunks: Iterable[bytes], limit: int | None = None) -> Blob:
        """Keep a payload; raises ``TooLarge`` above ``limit`` or ``max_bytes`` bytes."""
        intake = Intake(chunks, self._max_bytes if limit is None else min(limit, self._max_bytes))
        data = b"".join(intake)
        blob = intake.blob
        points.reach("keep.temporary")
        with self._lock:
            fresh = self._payloads.get(blob.sha) != data
            if fresh:
                self._payloads[blob.sha] = data
        if fresh:
            points.reach("keep.renamed")
        points.reach("keep.kept")
        return blob

    def open(self, sha: Sha256) -> BinaryIO:
        """Open a checked payload; raises ``ArtifactMissing`` or ``ArtifactCorrupt``."""
        return io.BytesIO(self.read(sha))

    def read(self, sha: Sha256) -> bytes:
        """Return the checked bytes; raises as ``open``."""
        with self._lock:
            data = self._payloads.get(sha) if is_sha(sha) else None
        if data is None:
            raise missing(sha)
        if sha256(data) != sha:
            raise corrupt(sha)
        return data

    def intact(self, sha: Sha256) -> bool:
        """Whether the payload is there and matches its hash."""
        try:
            self.read(sha)
        except (ArtifactMissing, ArtifactCorrupt):
            return False
        return True

    def shas(self) -> Iterable[Sha256]:
        """Return the hash of every payload held, sorted."""
        with self._lock:
            return sorted(self._payloads)
