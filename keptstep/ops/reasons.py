"""The last line of a kept error: what a person wants to see first."""

from __future__ import annotations

from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing, NotFound
from keptstep.models.records import Kept
from keptstep.ops.inert import inert_line
from keptstep.workflows.ports import ArtifactStore, TaskStore

_LONGEST = 500


def error_line(store: TaskStore, artifacts: ArtifactStore, error: Kept | None) -> str | None:
    """Return the last line of an error's kept text, harmless and shortened.

    It may quote a payload: it is for a person who asked, never for rows or logs.
    """
    if error is None or error.artifact_id is None:
        return None
    try:
        text = artifacts.read(store.artifact(error.artifact_id).sha)
    except (ArtifactMissing, ArtifactCorrupt, NotFound) as lost:
        return f"its text is lost: {lost}"
    last = text.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return inert_line(last[:_LONGEST]) or None
