"""The in-memory store's planning: new steps of an advance, and what their needs make of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from keptstep.models.errors import BadInput, DuplicateStep
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, TaskId, short
from keptstep.models.records import Bell, NewStep, Step, TaskLease
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.models.stores.memory_data import Change, MemoryBase, check_literal

_NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class PlanVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def plan(self, lease: TaskLease, steps: Sequence[NewStep]) -> list[Step]:
        """Keep new steps: ready, pending, or cancelled with a need that will never be done."""
        with self._change() as change:
            task = change.held_task(lease)
            change.set_task(task.id, attempts=1)
            present = len(change.tables.steps_of.get(task.id, ()))
            if present + len(steps) > self._max_steps:
                raise BadInput(
                    f"task {short(task.id)} would have {present + len(steps)} steps, and its "
                    f"limit is {self._max_steps} (KEPTSTEP_MAX_STEPS)"
                )
            for position, new in enumerate(steps, start=present + 1):
                _check(change, task.id, new)
                _insert(change, task.id, new, position)
            planned = tuple(new.id for new in steps)
            earlier = change.tables.steps_of.get(task.id, ())
            change.put(change.tables.steps_of, task.id, earlier + planned)
            return [change.tables.steps[step_id] for step_id in planned]


def ready_dependants(change: Change, step_id: StepId) -> tuple[Bell, ...]:
    """Ready the pending steps whose last need this was, by position."""
    tables = change.tables
    readied = [
        step
        for step in _by_position(change, tables.dependants.get(step_id, ()))
        if step.status is StepStatus.PENDING and _needs_done(change, step.needs)
    ]
    for step in readied:
        change.set_step(step.id, status=StepStatus.READY, due_at=change.now)
        change.log_step(step, EventKind.STEP_READIED, None)
    return tuple(Bell(step.id, step.tool) for step in readied)


def cancel_dependants(change: Change, ended: Step) -> None:
    """Cancel, through all generations, the pending steps that need one that ended badly."""
    reason = f"it needs step {ended.name}, which is not going to be done"
    queue = [ended.id]
    while queue:
        for step in _by_position(change, change.tables.dependants.get(queue.pop(), ())):
            if step.status is StepStatus.PENDING:
                _cancel(change, step, reason)
                queue.append(step.id)


def _cancel(change: Change, step: Step, reason: str) -> None:
    change.set_step(step.id, status=StepStatus.CANCELLED, reason=reason)
    change.log_step(step, EventKind.STEP_CANCELLED, None, reason=reason)


def _by_position(change: Change, step_ids: Iterable[StepId]) -> list[Step]:
    found = [change.tables.steps[step_id] for step_id in step_ids]
    return sorted(found, key=lambda step: step.position)


def _needs_done(change: Change, needs: Iterable[StepId]) -> bool:
    return all(change.tables.steps[need].status is StepStatus.DONE for need in needs)


def _check(change: Change, task_id: TaskId, new: NewStep) -> None:
    if not _NAME.fullmatch(new.name):
        raise BadInput(
            f"{new.name[:140]!r} cannot be a step name: use 1 to 128 of A-Z a-z 0-9 . _ : -"
        )
    check_literal(new.input)
    if (task_id, new.name) in change.tables.names:
        raise DuplicateStep(f"task {short(task_id)} has a step {new.name} already")
    if new.id in change.tables.steps:
        raise BadInput(f"there is a step {short(new.id)} already: give a new step a new id")
    for need in new.needs:
        needed = change.tables.steps.get(need)
        if needed is None or needed.task_id != task_id:
            raise BadInput(
                f"step {new.name} needs {short(need)}, which is not an earlier step of its task"
            )


def _insert(change: Change, task_id: TaskId, new: NewStep, position: int) -> None:
    tables = change.tables
    needs = tuple(sorted(set(new.needs)))
    ready = _needs_done(change, needs)
    step = Step(
        id=new.id,
        task_id=task_id,
        position=position,
        name=new.name,
        tool=new.tool,
        artifact_class=new.artifact_class,
        effect=new.effect,
        status=StepStatus.READY if ready else StepStatus.PENDING,
        input=new.input,
        input_id=change.record(task_id, new.input_artifact),
        input_sha=new.input_sha,
        attempts=0,
        max_attempts=new.max_attempts,
        deadline=new.deadline,
        owner=None,
        token=0,
        lease_until=None,
        started_at=None,
        due_at=change.now,
        artifact_id=None,
        reason=None,
        error=None,
        needs=needs,
    )
    change.put(tables.steps, new.id, step)
    change.put(tables.names, (task_id, new.name), new.id)
    for need in needs:
        change.put(tables.dependants, need, (*tables.dependants.get(need, ()), new.id))
    change.log_step(
        step,
        EventKind.STEP_PLANNED,
        None,
        name=new.name,
        tool=new.tool,
        effect=str(new.effect),
        artifact_class=int(new.artifact_class),
    )
    lost = STEP_FINISHED - {StepStatus.DONE}
    if any(tables.steps[need].status in lost for need in needs):
        _cancel(change, step, "it needs a step that is not going to be done")
