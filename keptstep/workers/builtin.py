"""The tools behind ``run.now``, ``run.uuid`` and ``run.random``: chance that is kept."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from uuid import uuid4

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.workflows.definition import tool


@tool(name="keptstep.now", artifact_class=ArtifactClass.SNAPSHOT, effect=Effect.NONE)
def now() -> str:
    """Return the time in ISO 8601, UTC."""
    return datetime.now(UTC).isoformat()


@tool(name="keptstep.uuid", artifact_class=ArtifactClass.SNAPSHOT, effect=Effect.NONE)
def uuid() -> str:
    """Return a random UUID."""
    return str(uuid4())


@tool(name="keptstep.random", artifact_class=ArtifactClass.SNAPSHOT, effect=Effect.NONE)
def chance() -> float:
    """Return a random number of [0, 1)."""
    return random.random()  # noqa: S311 - for sampling, as the module says; not for secrets
