"""The in-memory store's leases: renewal, orphans and what recovery does with them."""

from __future__ import annotations

from collections.abc import Collection

from keptstep.models.decisions import Block, Decision, Fail, LeaveAlone, Run
from keptstep.models.errors import IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.models.records import Bell, Due, Lost, Settled, Step, Task
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.models.stores.memory_data import Change, MemoryBase, claimable, ref_facts, used_up
from keptstep.models.stores.memory_steps import settle_done, settle_failed, settle_uncertain
from keptstep.models.stores.memory_tasks import settle_task_failed


class LeaseVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def renew(
        self, worker: WorkerId, lease: float, steps: Collection[StepId], tasks: Collection[TaskId]
    ) -> Lost:
        """Move the end of this worker's leases, never backwards, at most to the deadline."""
        with self._change() as change:
            until = change.now + lease
            return Lost(
                frozenset(s for s in steps if not _renew_step(change, s, worker, until)),
                frozenset(t for t in tasks if not _renew_task(change, t, worker, until)),
            )

    def owners(self) -> set[WorkerId]:
        """Return every worker that holds a lease now, live or not."""
        with self._read() as tables:
            rows: list[Step | Task] = [*tables.steps.values(), *tables.tasks.values()]
            return {row.owner for row in rows if row.owner is not None}

    def orphans(self, dead: Collection[WorkerId], limit: int = 100) -> list[Step]:
        """Return running steps whose lease ended or whose owner is dead, the oldest end first."""
        with self._change() as change:
            found = [s for s in change.tables.steps.values() if _orphaned(s, change.now, dead)]
            return sorted(found, key=lambda s: (s.lease_until or 0.0, s.id))[:limit]

    def recover(
        self, found: Step, decision: Decision, dead: Collection[WorkerId] = ()
    ) -> Settled | None:
        """Carry out a decision on an orphan that did not move since it was read."""
        with self._change() as change:
            step = change.tables.steps.get(found.id)
            if (
                step is None
                or step.token != found.token
                or step.artifact_id != found.artifact_id
                or not _orphaned(step, change.now, dead)
            ):
                return None
            outcome = "died" if step.owner in dead else "expired"
            match decision:
                case Run(roll_forward=True):
                    return _roll_forward(change, step)
                case Run(reason):
                    return _take_back(change, step, reason, outcome)
                case Block(reason):
                    change.end_attempt(step.id, outcome)
                    return settle_uncertain(change, step, reason, None)
                case Fail(reason):
                    change.end_attempt(step.id, outcome)
                    return settle_failed(change, step, reason, None)
                case LeaveAlone():
                    return None

    def recover_tasks(self, dead: Collection[WorkerId], limit: int = 100) -> list[Task]:
        """Take orphaned advances back: ready, or failed when their attempts are used up."""
        with self._change() as change:
            found = [t for t in change.tables.tasks.values() if _orphaned(t, change.now, dead)]
            found.sort(key=lambda t: (t.lease_until or 0.0, t.id))
            return [_recover_task(change, task, dead) for task in found[:limit]]

    def due(
        self,
        limit: int = 1000,
        *,
        only: Collection[TaskId] | None = None,
        tools: Collection[str] | None = None,
        workflows: Collection[str] | None = None,
    ) -> Due:
        """Return what may be claimed now, the longest due first."""
        with self._change() as change:
            steps = [
                step
                for step in change.tables.steps.values()
                if change.claimable_step(step)
                and (only is None or step.task_id in only)
                and (tools is None or step.tool in tools)
            ]
            tasks = [
                task
                for task in change.tables.tasks.values()
                if claimable(task, change.now)
                and task.paused_at is None
                and (only is None or task.id in only)
                and (workflows is None or task.workflow in workflows)
            ]
            steps.sort(key=lambda s: (s.due_at, s.id))
            tasks.sort(key=lambda t: (t.due_at, t.id))
            return Due(
                tuple(Bell(s.id, s.tool) for s in steps[:limit]),
                tuple(t.id for t in tasks[:limit]),
            )


def _renew_step(change: Change, step_id: StepId, worker: WorkerId, until: float) -> bool:
    step = change.tables.steps.get(step_id)
    if step is None or step.status is not StepStatus.RUNNING or step.owner != worker:
        return False
    bounded = min(until, (step.started_at or change.now) + step.deadline)
    change.set_step(step_id, lease_until=max(step.lease_until or bounded, bounded))
    return True


def _renew_task(change: Change, task_id: TaskId, worker: WorkerId, until: float) -> bool:
    task = change.tables.tasks.get(task_id)
    if task is None or task.status is not TaskStatus.RUNNING or task.owner != worker:
        return False
    change.set_task(task_id, lease_until=max(task.lease_until or until, until))
    return True


def _orphaned(row: Step | Task, now: float, dead: Collection[WorkerId]) -> bool:
    held = row.status in {StepStatus.RUNNING, TaskStatus.RUNNING}
    return held and ((row.lease_until or 0.0) <= now or row.owner in dead)


def _roll_forward(change: Change, step: Step) -> Settled:
    if step.artifact_id is None:
        raise IllegalMove(f"step {step.name} has no kept payload to roll forward with")
    ref = change.tables.artifacts[step.artifact_id].ref
    # The event carries the token its call started under, so that the log pairs the two.
    change.log_step(
        step,
        EventKind.TOOL_RESULT_PERSISTED,
        step.token,
        rolled_forward=True,
        **ref_facts(ref),
    )
    change.end_attempt(step.id, "done")
    change.set_step(step.id, token=step.token + 1)
    return settle_done(change, step.id)


def _take_back(change: Change, step: Step, reason: str, outcome: str) -> Settled:
    if step.attempts >= step.max_attempts:
        raise used_up(step)
    changed = change.free_step(step.id, StepStatus.READY, due_at=change.now)
    change.end_attempt(step.id, outcome)
    change.log_step(step, EventKind.STEP_RECLAIMED, step.token, reason=reason)
    return Settled(changed)


def _recover_task(change: Change, task: Task, dead: Collection[WorkerId]) -> Task:
    how = "died" if task.owner in dead else "let its lease end"
    reason = f"worker {task.owner} {how} in advance {task.attempts} of {task.max_attempts}"
    if task.attempts >= task.max_attempts:
        settle_task_failed(change, task, reason, None)
    else:
        change.free_task(task.id, TaskStatus.READY, due_at=change.now)
        change.log(task.id, EventKind.ADVANCE_RECLAIMED, token=task.token, reason=reason)
    return change.tables.tasks[task.id]
