"""Which workers of this home live, as far as their lock files on this host prove it."""

from __future__ import annotations

from pathlib import Path

from keptstep.models.ids import WorkerId
from keptstep.workers.liveness import host_name, proven_dead


def living(folder: Path) -> set[WorkerId]:
    """Return the workers of this host that live; those of other hosts cannot be seen."""
    files = list(folder.glob(f"{host_name()}-*.lock"))
    dead = {file for file in files if proven_dead(folder, WorkerId(file.stem))}
    # One that ended as planned in the meantime took its file away.
    return {WorkerId(file.stem) for file in files if file not in dead and file.exists()}
