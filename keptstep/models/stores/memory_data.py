"""The tables of the in-memory store, and a change to them that can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol, TypeVar

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.canonical import MAX_LITERAL
from keptstep.models.errors import BadInput, IllegalMove, LeaseLost
from keptstep.models.events import Event, EventKind, worth_telling
from keptstep.models.ids import ArtifactId, ConversationId, StepId, TaskId, notice_id, short
from keptstep.models.records import (
    Attempt,
    Kept,
    NewArtifact,
    Notice,
    Step,
    StepLease,
    Task,
    TaskLease,
)
from keptstep.models.states import TASK_UNFINISHED, StepStatus, TaskStatus, move_step, move_task

K = TypeVar("K")
V = TypeVar("V")

_ABSENT = object()
_FINISHES = frozenset(
    {EventKind.TOOL_RESULT_PERSISTED, EventKind.STEP_FAILED, EventKind.STEP_CANCELLED}
)


class Clock(Protocol):
    """Where the store's time comes from."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...


@dataclass
class Tables:
    """Everything that is remembered: dictionaries of frozen records."""

    conversations: dict[ConversationId, tuple[TaskId, ...]] = field(default_factory=dict)
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    keys: dict[str, TaskId] = field(default_factory=dict)
    steps: dict[StepId, Step] = field(default_factory=dict)
    steps_of: dict[TaskId, tuple[StepId, ...]] = field(default_factory=dict)
    names: dict[tuple[TaskId, str], StepId] = field(default_factory=dict)
    dependants: dict[StepId, tuple[StepId, ...]] = field(default_factory=dict)
    attempts: dict[StepId, tuple[Attempt, ...]] = field(default_factory=dict)
    events: dict[tuple[TaskId, int], Event] = field(default_factory=dict)
    artifacts: dict[ArtifactId, NewArtifact] = field(default_factory=dict)
    holders: dict[tuple[ArtifactId, TaskId], None] = field(default_factory=dict)
    notices: dict[bytes, tuple[Notice, float]] = field(default_factory=dict)  #: with due times


class Change:
    """One transaction at one moment: writes the tables and remembers how to take it back."""

    def __init__(self, tables: Tables, now: float) -> None:
        self.tables = tables
        self.now = now
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        """Set one entry of a table."""
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def take_back(self) -> None:
        """Restore every entry as it was, the newest write first."""
        for table, key, before in reversed(self._undo):
            if before is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = before

    # -- rows --------------------------------------------------------------------------------
    def set_task(self, task_id: TaskId, **values: Any) -> Task:
        """Change a task; a new status has to be a legal move."""
        task = self.tables.tasks[task_id]
        if "status" in values:
            move_task(task.status, values["status"])
        changed = replace(task, **values)
        self.put(self.tables.tasks, task_id, changed)
        return changed

    def free_task(self, task_id: TaskId, status: TaskStatus, **values: Any) -> Task:
        """Move a task to a status in which nobody holds its advance."""
        return self.set_task(task_id, status=status, owner=None, lease_until=None, **values)

    def set_step(self, step_id: StepId, **values: Any) -> Step:
        """Change a step; a new status has to be a legal move."""
        step = self.tables.steps[step_id]
        if "status" in values:
            move_step(step.status, values["status"])
        changed = replace(step, **values)
        self.put(self.tables.steps, step_id, changed)
        return changed

    def free_step(self, step_id: StepId, status: StepStatus, **values: Any) -> Step:
        """Move a step to a status in which nobody holds it."""
        return self.set_step(step_id, status=status, owner=None, lease_until=None, **values)

    def claimable_step(self, step: Step) -> bool:
        """Whether a step may be claimed now: also its task has to have a use for it."""
        task = self.tables.tasks[step.task_id]
        open_ = task.status in TASK_UNFINISHED and task.paused_at is None
        return open_ and claimable(step, self.now)

    # -- fences ------------------------------------------------------------------------------
    def held_task(self, lease: TaskLease) -> Task:
        """Return the task as it is now; raises ``LeaseLost`` if the lease is no longer current."""
        task = self.tables.tasks.get(lease.task.id)
        if task is None or task.status is not TaskStatus.RUNNING or task.token != lease.token:
            raise LeaseLost(
                f"the advance of task {short(lease.task.id)} is no longer held under token "
                f"{lease.token}: another worker goes on"
            )
        return task

    def held_step(self, lease: StepLease) -> Step:
        """Return the step as it is now; raises ``LeaseLost`` if the lease is no longer current."""
        step = self.tables.steps.get(lease.step.id)
        if step is None or step.status is not StepStatus.RUNNING or step.token != lease.token:
            raise LeaseLost(
                f"step {short(lease.step.id)} is no longer held under token {lease.token}: "
                "another worker goes on, or it was settled"
            )
        return step

    # -- events, attempts, artifacts ---------------------------------------------------------
    def log(
        self,
        task_id: TaskId,
        kind: EventKind,
        *,
        step_id: StepId | None = None,
        token: int | None = None,
        **data: Any,
    ) -> None:
        """Append an event with the task's next number (D27)."""
        seq = self.tables.tasks[task_id].last_seq + 1
        event = Event(task_id, seq, self.now, kind, step_id, token, data)
        self.put(self.tables.events, (task_id, seq), event)
        task = self.set_task(task_id, last_seq=seq)
        if worth_telling(kind, data):
            self._add_notice(task, event)

    def _add_notice(self, task: Task, event: Event) -> None:
        step = None if event.step_id is None else self.tables.steps[event.step_id].name
        notice = Notice(
            id=notice_id(task.id, event.seq),
            kind=event.kind,
            at=self.now,
            claimed_at=self.now,
            attempts=0,
            task_id=task.id,
            workflow=task.workflow,
            step_id=event.step_id,
            step=step,
            reason=str(event.data.get("reason", "")),
        )
        self.put(self.tables.notices, notice.id, (notice, self.now))

    def log_step(self, step: Step, kind: EventKind, token: int | None, **data: Any) -> None:
        """Append an event about a step."""
        self.log(step.task_id, kind, step_id=step.id, token=token, **data)

    def end_attempt(self, step_id: StepId, outcome: str, error: Kept | None = None) -> None:
        """Say how the newest attempt of a step ended."""
        *earlier, last = self.tables.attempts[step_id]
        ended = replace(last, ended_at=self.now, outcome=outcome, error=error)
        self.put(self.tables.attempts, step_id, (*earlier, ended))

    def record(self, task_id: TaskId, new: NewArtifact | None) -> ArtifactId | None:
        """Keep an artifact's record and make the task one of its holders.

        Raises ``BadInput`` when a source is unknown or the id stands for another artifact.
        """
        if new is None:
            return None
        known = self.tables.artifacts.get(new.ref.id)
        if known is None:
            self._check_sources(new)
            self.put(self.tables.artifacts, new.ref.id, new)
        elif known.ref != new.ref:
            raise BadInput(f"artifact {short(new.ref.id)} was recorded before with other content")
        self.put(self.tables.holders, (new.ref.id, task_id), None)
        return new.ref.id

    def _check_sources(self, new: NewArtifact) -> None:
        for source in new.sources:
            if source not in self.tables.artifacts:
                raise BadInput(
                    f"artifact {short(new.ref.id)} names a source that is not recorded: "
                    f"{short(source)}"
                )


class MemoryBase:
    """One lock around the tables: a verb runs alone, and one that raises changes nothing."""

    def __init__(self, clock: Clock, max_steps: int = 100_000) -> None:
        self._clock = clock
        self._max_steps = max_steps
        self._tables = Tables()
        self._lock = Lock()

    @contextmanager
    def _change(self) -> Iterator[Change]:
        with self._lock:
            change = Change(self._tables, self._clock.now())
            try:
                yield change
            except BaseException:
                change.take_back()
                raise

    @contextmanager
    def _read(self) -> Iterator[Tables]:
        with self._lock:
            yield self._tables


def ref_facts(ref: ArtifactRef) -> dict[str, Any]:
    """Return what an event tells about an artifact: facts, never its content."""
    return {"artifact": ref.id.hex(), "sha": ref.sha}


def finishing_events(tables: Tables, task: Task, after: int) -> list[Event]:
    """Return the events numbered above ``after`` that say that a step finished."""
    numbers = range(max(after, 0) + 1, task.last_seq + 1)
    news = (tables.events[task.id, seq] for seq in numbers)
    return [event for event in news if event.kind in _FINISHES]


def check_literal(text: str | None) -> None:
    """Raise ``BadInput`` for an input that has to be an artifact (D49)."""
    if text is not None and len(text.encode("utf-8", "surrogatepass")) > MAX_LITERAL:
        raise BadInput(f"a literal input has at most {MAX_LITERAL} bytes: keep it as an artifact")


def claimable(row: Step | Task, now: float) -> bool:
    """Whether a step or an advance may be claimed: ready, due, attempts not used up."""
    ready = row.status in {StepStatus.READY, TaskStatus.READY}
    return ready and row.due_at <= now and row.attempts < row.max_attempts


def told(reason: str, error: Kept | None) -> dict[str, Any]:
    """Return what an event tells about a failure: words without payload."""
    facts = {"reason": reason}
    if error is not None:
        facts["error"] = error.kind
        if error.artifact_id is not None:
            facts["text"] = error.artifact_id.hex()
    return facts


def used_up(step: Step) -> IllegalMove:
    """Say that a step may not be tried again."""
    return IllegalMove(
        f"step {step.name} has used all {step.max_attempts} attempts: it can only fail"
    )
