"""What a home has on record, read from a copy: looking must not mend what a crash left."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from keptstep.models.events import Event, EventKind
from keptstep.models.ids import StepId
from keptstep.models.records import Step
from keptstep.models.stores.clock import HostClock
from keptstep.models.stores.sql import open_sql_store
from keptstep.testing.crash.records import Called, Seen, StepSeen
from keptstep.testing.damage import file_of
from keptstep.testing.invariants import all_events, check_task
from keptstep.workflows.ports import TaskStore

#: Events that end or return an attempt: only after one of these may anybody be told.
_OUTCOMES = frozenset(
    {
        EventKind.TOOL_RESULT_PERSISTED,
        EventKind.STEP_RETRY,
        EventKind.STEP_FAILED,
        EventKind.STEP_UNCERTAIN,
        EventKind.STEP_RECLAIMED,
        EventKind.STEP_RELEASED,
    }
)
#: Events after which a side effect may be called again: it said, or a person, that it did not act.
_AGAIN = frozenset({EventKind.STEP_RETRY, EventKind.STEP_SETTLED, EventKind.STEP_REQUEUED})


def look(home: Path) -> Seen:
    """Return what a home whose processes are dead or stopped has on record."""
    database = home / "keptstep.db"
    if not database.exists():
        return Seen()
    with tempfile.TemporaryDirectory() as folder:
        for name in (database.name, f"{database.name}-wal"):
            if (home / name).exists():
                shutil.copy(home / name, folder)
        store = open_sql_store(Path(folder, database.name), clock=HostClock())
        try:
            return _seen(store, home / "blobs")
        finally:
            store.close()


def read_calls(path: Path) -> list[Called]:
    """Return the calls of tools so far, in order."""
    if not path.exists():
        return []
    return [Called(**json.loads(line)) for line in path.read_text().splitlines()]


def _seen(store: TaskStore, blobs: Path) -> Seen:
    tasks = store.tasks()
    if not tasks:
        return Seen()
    task = tasks[0]
    contradictions = []
    try:
        check_task(store, task.id)
    except AssertionError as wrong:
        contradictions.append(str(wrong).splitlines()[0])
    events = all_events(store, task.id)
    of_step: dict[StepId | None, list[Event]] = {}
    for event in events:
        of_step.setdefault(event.step_id, []).append(event)
    steps = {
        step.name: _step(store, blobs, step, of_step.get(step.id, []))
        for step in store.steps(task.id)
    }
    return Seen(task.status, steps, tuple(contradictions))


def _step(store: TaskStore, blobs: Path, step: Step, events: Sequence[Event]) -> StepSeen:
    kinds = [event.kind for event in events]
    present = {event.kind for event in events if event.token == step.token}
    sha = store.artifact(step.artifact_id).sha if step.artifact_id is not None else None
    return StepSeen(
        name=step.name,
        effect=step.effect,
        artifact_class=int(step.artifact_class),
        status=step.status,
        attempts=step.attempts,
        max_attempts=step.max_attempts,
        starts=kinds.count(EventKind.TOOL_CALL_STARTED),
        results=kinds.count(EventKind.TOOL_RESULT_PERSISTED),
        shown=sum(kind in _OUTCOMES for kind in kinds),
        verdicts=kinds.count(EventKind.STEP_SETTLED),
        again=sum(kind in _AGAIN for kind in kinds),
        late=kinds.count(EventKind.LATE_RESULT),
        marked=EventKind.PAYLOAD_PERSISTED in present,
        sha=sha,
        intact=sha is not None and _matches(file_of(blobs, sha), sha),
    )


def _matches(path: Path, sha: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha
