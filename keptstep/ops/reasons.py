"""The line of a kept error that a person wants to see first."""

from __future__ import annotations

from collections.abc import Sequence

from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing, NotFound, PlanDifference
from keptstep.models.records import Kept
from keptstep.ops.inert import inert_line
from keptstep.workflows.ports import ArtifactStore, TaskStore

_LONGEST = 500


def error_line(store: TaskStore, artifacts: ArtifactStore, error: Kept | None) -> str | None:
    """Return what matters of an error's kept text, harmless and shortened.

    That is a traceback's last line, and of a plan difference the lines that differ.

    It may quote a payload: it is for a person who asked, never for rows or logs.
    """
    if error is None or error.artifact_id is None:
        return None
    try:
        text = artifacts.read(store.artifact(error.artifact_id).sha)
    except (ArtifactMissing, ArtifactCorrupt, NotFound) as lost:
        return f"its text is lost: {lost}"
    lines = text.decode("utf-8", "replace").strip().split("\n")
    told = _changes(lines) if error.kind == PlanDifference.__name__ else lines[-1]
    return inert_line(told[:_LONGEST]) or None


def _changes(diff: Sequence[str]) -> str:
    """Return the lines of a diff that differ, in one."""
    headings = ("+++", "---")
    changed = [line for line in diff if line[:1] in ("+", "-") and not line.startswith(headings)]
    return "; ".join(f"{line[0]} {line[1:].strip()}" for line in changed)
