# ruff: noqa: S101 - a check that fails has to say so
"""What holds in every task store at every moment, checked from its own log.

The log is folded into the statuses it tells of and compared with the rows: a status change
without its event, or an event without its change, shows here (R50, R55).
"""

from __future__ import annotations

from collections.abc import Iterable

from keptstep.models.events import Event, EventKind
from keptstep.models.ids import StepId, TaskId
from keptstep.models.records import Step
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.workflows.ports import TaskStore

_K, _S, _T = EventKind, StepStatus, TaskStatus

_ENVELOPE = (_K.TOOL_CALL_STARTED, _K.PAYLOAD_PERSISTED, _K.TOOL_RESULT_PERSISTED)
_STEP_AFTER = {
    _K.STEP_READIED: _S.READY,
    _K.TOOL_CALL_STARTED: _S.RUNNING,
    _K.TOOL_RESULT_PERSISTED: _S.DONE,
    _K.STEP_RETRY: _S.READY,
    _K.STEP_RELEASED: _S.READY,
    _K.STEP_RECLAIMED: _S.READY,
    _K.STEP_REQUEUED: _S.READY,
    _K.STEP_SETTLED: _S.READY,  # what else a verdict makes of a step is the next event
    _K.STEP_FAILED: _S.FAILED,
    _K.STEP_UNCERTAIN: _S.UNCERTAIN,
    _K.STEP_CANCELLED: _S.CANCELLED,
}
_TASK_AFTER = {
    _K.TASK_SUBMITTED: {_T.READY},
    _K.ADVANCE_STARTED: {_T.RUNNING},
    _K.ADVANCE_LEFT: {_T.WAITING, _T.READY},  # ready when a step finished meanwhile
    _K.ADVANCE_FAILED: {_T.READY},
    _K.ADVANCE_RECLAIMED: {_T.READY},
    _K.TASK_REOPENED: {_T.READY},
    _K.TASK_BLOCKED: {_T.BLOCKED},
    _K.TASK_DONE: {_T.DONE},
    _K.TASK_FAILED: {_T.FAILED},
    _K.TASK_CANCELLED: {_T.CANCELLED},
}
_WAKES = {_K.TOOL_RESULT_PERSISTED, _K.STEP_FAILED}


def check_task(store: TaskStore, task_id: TaskId) -> None:
    """Raise ``AssertionError`` if the rows of a task and its log do not fit together."""
    events = all_events(store, task_id)
    steps = store.steps(task_id)
    check_numbers(events)
    check_envelopes(events)
    assert store.task(task_id).last_seq == len(events), "the task counts its events"
    assert store.task(task_id).status in told_of_task(events), "the task's status has its event"
    told = told_of_steps(events, steps)
    assert {step.id: step.status for step in steps} == told, "every status has its event"
    for step in steps:
        check_step(store, step)


def check_step(store: TaskStore, step: Step) -> None:
    """Raise ``AssertionError`` if a step's row contradicts itself or its attempts."""
    running = step.status is _S.RUNNING
    assert (step.owner is not None) == running, "an owner means running"
    assert (step.lease_until is not None) == running, "a lease means running"
    assert 0 <= step.attempts <= step.max_attempts, "the cap holds"
    assert step.status is not _S.DONE or step.artifact_id is not None, "done means kept"
    if step.artifact_id is not None:
        assert store.artifact(step.artifact_id).id == step.artifact_id
    attempts = store.attempts(step.id)
    assert [attempt.n for attempt in attempts] == list(range(1, len(attempts) + 1))
    tokens = [attempt.token for attempt in attempts]
    assert tokens == sorted(set(tokens)), "tokens grow"
    assert not tokens or tokens[-1] <= step.token
    open_ones = [attempt for attempt in attempts if attempt.outcome is None]
    assert len(open_ones) == running, "one attempt is open while the step runs, none otherwise"
    assert all((a.ended_at is None) == (a.outcome is None) for a in attempts)


def check_numbers(events: Iterable[Event]) -> None:
    """Raise ``AssertionError`` if the numbers have a gap or do not begin at 1 (D27)."""
    numbers = [event.seq for event in events]
    assert numbers == list(range(1, len(numbers) + 1)), "events are numbered without a gap"


def check_envelopes(events: Iterable[Event]) -> None:
    """Raise ``AssertionError`` if a call's events are not in the order of R51."""
    calls: dict[tuple[StepId | None, int | None], list[EventKind]] = {}
    for event in events:
        if event.kind in _ENVELOPE:
            calls.setdefault((event.step_id, event.token), []).append(event.kind)
    for kinds in calls.values():
        order = tuple(dict.fromkeys(kinds))
        assert order == _ENVELOPE[: len(order)], f"a call's envelope is {kinds}"
        assert kinds.count(_K.TOOL_CALL_STARTED) == 1
        assert kinds.count(_K.TOOL_RESULT_PERSISTED) <= 1


def told_of_steps(events: Iterable[Event], steps: Iterable[Step]) -> dict[StepId, StepStatus]:
    """Fold a log into the status of each step it tells of."""
    needs = {step.id: step.needs for step in steps}
    told: dict[StepId, StepStatus] = {}
    for event in events:
        if event.step_id is None:
            continue
        if event.kind is _K.STEP_PLANNED:
            met = all(told.get(need) is _S.DONE for need in needs[event.step_id])
            told[event.step_id] = _S.READY if met else _S.PENDING
        elif event.kind in _STEP_AFTER:
            told[event.step_id] = _STEP_AFTER[event.kind]
    return told


def told_of_task(events: Iterable[Event]) -> set[TaskStatus]:
    """Fold a log into the statuses its task may be in."""
    told: set[TaskStatus] = set()
    for event in events:
        if event.kind in _TASK_AFTER:
            told = {_T.READY} if event.data.get("released") else set(_TASK_AFTER[event.kind])
        elif event.kind in _WAKES and _T.WAITING in told:
            told = {_T.READY}
    return told


def all_events(store: TaskStore, task_id: TaskId) -> list[Event]:
    """Return the whole log of a task, page by page."""
    found: list[Event] = []
    while page := store.events(task_id, after=len(found)):
        found.extend(page)
    return found
