"""How an error is kept: a word for the row, the whole text as an artifact (R28)."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from keptstep.models.artifacts import TEXT_TYPE, ArtifactClass, ArtifactRef
from keptstep.models.ids import ArtifactId
from keptstep.models.records import Failure, Kept, NewArtifact
from keptstep.workflows.ports import ArtifactStore

_MAX_TEXT = 64 * 1024


def place_of(error: BaseException) -> str:
    """Return an error's class and where it was raised: what a log line may hold of it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


class FailureKeeper:
    """Keeps the texts of errors, which may quote a payload, out of rows, events and logs."""

    def __init__(self, artifacts: ArtifactStore, new_id: Callable[[], bytes]) -> None:
        self._artifacts = artifacts
        self._new_id = new_id

    def keep(self, reason: str, error: BaseException, text: str) -> Failure:
        """Keep ``text`` (up to 64 KiB) and return the failure that names it.

        ``reason`` is ours and holds no payload; of the error itself only the class is told.
        """
        blob = self._artifacts.put([text.encode("utf-8", "backslashreplace")[:_MAX_TEXT]])
        identity = ArtifactId(self._new_id())
        ref = ArtifactRef(identity, blob.sha, ArtifactClass.SNAPSHOT, TEXT_TYPE, blob.size)
        kind = type(error).__name__
        return Failure(reason, Kept(kind[:128], identity), NewArtifact(ref))
