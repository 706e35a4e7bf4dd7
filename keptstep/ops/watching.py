"""A task as its events tell it: what each step is doing, and a line for what is worth one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from keptstep.models.events import Event, EventKind
from keptstep.models.ids import StepId, TaskId
from keptstep.models.records import Step
from keptstep.models.states import StepStatus
from keptstep.ops.words import span

_K, _S = EventKind, StepStatus


class Mark(Enum):
    """What kind of news a line is."""

    STARTED = "started"
    DONE = "done"
    NOTE = "note"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of news: ``subject`` is a step's name, or empty for the task itself."""

    at: float
    mark: Mark
    subject: str
    text: str


@dataclass(slots=True)
class Watched:
    """A step as far as a reader cares."""

    name: str
    status: StepStatus
    attempt: int = 0
    since: float = 0.0  #: when the present attempt began, in seconds
    due_at: float = 0.0
    reason: str = ""


class TaskView:
    """The steps of one task, kept up to date by its events."""

    def __init__(self, task_id: TaskId, seq: int, steps: Sequence[Step]) -> None:
        self.task_id = task_id
        self.seq = seq  #: the newest event that is in ``steps`` or was taken
        self._steps = {step.id: _watched(step) for step in steps}
        self._tally = Counter(watched.status for watched in self._steps.values())
        self._running = self._with(_S.RUNNING)
        self._delayed = self._with(_S.READY)

    def count(self, *statuses: StepStatus) -> int:
        """Return how many steps are in these statuses."""
        return sum(self._tally[status] for status in statuses)

    def running(self) -> list[Watched]:
        """Return the steps that run, the longest running first."""
        return sorted(self._running.values(), key=lambda step: step.since)

    def delayed(self, now: float) -> list[Watched]:
        """Return the steps that are tried again later, the next one first."""
        later = [step for step in self._delayed.values() if step.due_at > now]
        return sorted(later, key=lambda step: step.due_at)

    def take(self, event: Event) -> Line | None:
        """Follow one event; return its line if it is worth one."""
        self.seq = event.seq
        if event.step_id is None:
            return _task_line(event)
        step = self._step(event.step_id, event)
        self._tally[step.status] -= 1
        line = _STEP_NEWS.get(event.kind, _nothing)(step, event)
        self._tally[step.status] += 1
        self._sort(event.step_id, step, event.at)
        return line

    def _sort(self, step_id: StepId, step: Watched, at: float) -> None:
        for group, belongs in (
            (self._running, step.status is _S.RUNNING),
            (self._delayed, step.status is _S.READY and step.due_at > at),
        ):
            if belongs:
                group[step_id] = step
            else:
                group.pop(step_id, None)

    def _with(self, status: StepStatus) -> dict[StepId, Watched]:
        return {key: step for key, step in self._steps.items() if step.status is status}

    def _step(self, step_id: StepId, event: Event) -> Watched:
        if step_id not in self._steps:
            name = str(event.data.get("name", step_id.hex()))
            self._steps[step_id] = Watched(name, _S.READY)
            self._tally[_S.READY] += 1
        return self._steps[step_id]


def _watched(step: Step) -> Watched:
    since, reason = step.started_at or 0.0, step.reason or ""
    return Watched(step.name, step.status, step.attempts, since, step.due_at, reason)


def _nothing(_step: Watched, _event: Event) -> None:
    return None


def _started(step: Watched, event: Event) -> Line:
    again = step.attempt > 0
    step.status, step.since = _S.RUNNING, event.at
    step.attempt = int(event.data.get("attempt", step.attempt + 1))
    text = f"started again, try {step.attempt}" if again else "started"
    return Line(event.at, Mark.STARTED, step.name, text)


def _done(step: Watched, event: Event) -> Line:
    step.status = _S.DONE
    if event.data.get("rolled_forward"):
        return Line(event.at, Mark.DONE, step.name, "done, with what a dead worker had kept")
    return Line(event.at, Mark.DONE, step.name, f"done in {span(event.at - step.since)}")


def _retry(step: Watched, event: Event) -> Line:
    step.status, step.due_at = _S.READY, float(event.data.get("due_at", event.at))
    wait = span(step.due_at - event.at)
    text = f"failed, again in {wait}: {_why(event.data)}"
    return Line(event.at, Mark.WARNING, step.name, text)


def _to(status: StepStatus, mark: Mark, lead: str) -> Callable[[Watched, Event], Line]:
    def news(step: Watched, event: Event) -> Line:
        step.status, step.reason = status, _why(event.data)
        step.due_at = event.at
        text = f"{lead}: {step.reason}" if step.reason else lead
        return Line(event.at, mark, step.name, text)

    return news


def _settled(step: Watched, event: Event) -> Line:
    # What the verdict makes of the step is told by the next event, if it is not ready again.
    step.status, step.due_at = _S.READY, event.at
    verdict = event.data.get("verdict", "settled")
    return Line(event.at, Mark.NOTE, step.name, f"settled: {verdict}, {_why(event.data)}")


_STEP_NEWS: dict[EventKind, Callable[[Watched, Event], Line | None]] = {
    _K.TOOL_CALL_STARTED: _started,
    _K.TOOL_RESULT_PERSISTED: _done,
    _K.STEP_RETRY: _retry,
    _K.STEP_FAILED: _to(_S.FAILED, Mark.BAD, "failed for good"),
    _K.STEP_UNCERTAIN: _to(_S.UNCERTAIN, Mark.BAD, "uncertain"),
    _K.STEP_RELEASED: _to(_S.READY, Mark.NOTE, "given back, not counted as a try"),
    _K.STEP_RECLAIMED: _to(_S.READY, Mark.WARNING, "taken back"),
    _K.STEP_REQUEUED: _to(_S.READY, Mark.NOTE, "set going again"),
    _K.STEP_SETTLED: _settled,
    _K.STEP_CANCELLED: _to(_S.CANCELLED, Mark.NOTE, "cancelled"),
}

_TASK_NEWS: dict[EventKind, tuple[Mark, str]] = {
    _K.ADVANCE_FAILED: (Mark.WARNING, "the workflow function failed and is tried again"),
    _K.ADVANCE_RECLAIMED: (Mark.WARNING, "taken over"),
    _K.TASK_BLOCKED: (Mark.BAD, "blocked"),
    _K.TASK_DONE: (Mark.DONE, "done"),
    _K.TASK_FAILED: (Mark.BAD, "failed"),
    _K.TASK_CANCELLED: (Mark.NOTE, "cancelled"),
    _K.TASK_PAUSED: (Mark.NOTE, "paused"),
    _K.TASK_UNPAUSED: (Mark.NOTE, "goes on"),
    _K.TASK_REOPENED: (Mark.NOTE, "set going again"),
}


def _task_line(event: Event) -> Line | None:
    if event.kind not in _TASK_NEWS:
        return None
    mark, lead = _TASK_NEWS[event.kind]
    why = _why(event.data)
    return Line(event.at, mark, "", f"{lead}: {why}" if why else lead)


def _why(data: Any) -> str:
    """Return the reason an event gives, with the class of the error, or who did it and why."""
    if "by" in data:
        return f"by {data['by']}: {data.get('why', '')}"
    reason, error = str(data.get("reason", "")), data.get("error")
    return f"{reason} ({error})" if error and error not in reason else reason
