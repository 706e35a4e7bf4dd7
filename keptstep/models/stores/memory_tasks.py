"""The in-memory store's verbs on tasks: submit, and the advance's claim and ends."""

from __future__ import annotations

from collections.abc import Collection

from keptstep.models.errors import BadInput, IllegalMove, KeyConflict, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId, WorkerId, short
from keptstep.models.records import Failure, Kept, NewArtifact, NewTask, Task, TaskLease
from keptstep.models.states import TaskStatus
from keptstep.models.stores.memory_data import (
    Change,
    MemoryBase,
    check_literal,
    claimable,
    finishing_events,
    ref_facts,
    told,
)


class TaskVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def submit(self, new: NewTask) -> tuple[Task, bool]:
        """Keep a new task, or return the one its key stands for."""
        with self._change() as change:
            known = change.tables.keys.get(new.key) if new.key is not None else None
            if known is not None:
                return _same(change.tables.tasks[known], new), False
            if new.id in change.tables.tasks:
                raise BadInput(
                    f"there is a task {short(new.id)} already: give a new task a new id"
                )
            check_literal(new.input)
            return _insert(change, new), True

    def claim_task(
        self,
        task_id: TaskId,
        worker: WorkerId,
        lease: float,
        workflows: Collection[str] | None = None,
    ) -> TaskLease | None:
        """Take the advance of a ready, due task whose attempts are not used up."""
        with self._change() as change:
            task = change.tables.tasks.get(task_id)
            if task is None or task.paused_at is not None or not claimable(task, change.now):
                return None
            if workflows is not None and task.workflow not in workflows:
                return None
            until = change.now + lease
            token = task.token + 1
            change.set_task(
                task_id,
                status=TaskStatus.RUNNING,
                owner=worker,
                token=token,
                lease_until=until,
                attempts=task.attempts + 1,
            )
            change.log(
                task_id,
                EventKind.ADVANCE_STARTED,
                token=token,
                attempt=task.attempts + 1,
                worker=worker,
            )
            return TaskLease(change.tables.tasks[task_id], token, worker, until)

    def leave(self, lease: TaskLease, seen: int) -> Task:
        """Give the advance up: waiting, or ready when a step finished after ``seen``."""
        with self._change() as change:
            task = change.held_task(lease)
            news = finishing_events(change.tables, task, after=seen)
            status = TaskStatus.READY if news else TaskStatus.WAITING
            change.free_task(task.id, status, attempts=0, due_at=change.now)
            change.log(task.id, EventKind.ADVANCE_LEFT, token=lease.token)
            return change.tables.tasks[task.id]

    def release_task(self, lease: TaskLease) -> Task:
        """Give the advance back uncounted (D16)."""
        with self._change() as change:
            task = change.held_task(lease)
            change.free_task(
                task.id, TaskStatus.READY, attempts=task.attempts - 1, due_at=change.now
            )
            change.log(task.id, EventKind.ADVANCE_LEFT, token=lease.token, released=True)
            return change.tables.tasks[task.id]

    def finish_task(self, lease: TaskLease, result: NewArtifact) -> Task:
        """Record the function's result."""
        with self._change() as change:
            task = change.held_task(lease)
            artifact_id = change.record(task.id, result)
            change.free_task(
                task.id,
                TaskStatus.DONE,
                artifact_id=artifact_id,
                reason=None,
                error=None,
                ended_at=change.now,
            )
            change.log(task.id, EventKind.TASK_DONE, token=lease.token, **ref_facts(result.ref))
            return change.tables.tasks[task.id]

    def fail_task(self, lease: TaskLease, failure: Failure, delay: float | None) -> Task:
        """Record that the advance ended badly: due again in ``delay`` seconds, or failed."""
        with self._change() as change:
            task = change.held_task(lease)
            change.record(task.id, failure.text)
            if delay is None or task.attempts >= task.max_attempts:
                settle_task_failed(change, task, failure.reason, failure.error)
                return change.tables.tasks[task.id]
            due_at = change.now + delay
            change.free_task(
                task.id,
                TaskStatus.READY,
                due_at=due_at,
                reason=failure.reason,
                error=failure.error,
            )
            change.log(
                task.id,
                EventKind.ADVANCE_FAILED,
                token=lease.token,
                **told(failure.reason, failure.error),
            )
            return change.tables.tasks[task.id]

    def block_task(self, lease: TaskLease, failure: Failure) -> Task:
        """Stop the task for an operator."""
        with self._change() as change:
            task = change.held_task(lease)
            change.record(task.id, failure.text)
            change.free_task(
                task.id, TaskStatus.BLOCKED, reason=failure.reason, error=failure.error
            )
            change.log(
                task.id,
                EventKind.TASK_BLOCKED,
                token=lease.token,
                **told(failure.reason, failure.error),
            )
            return change.tables.tasks[task.id]

    def reopen_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """Set a blocked or failed task going again with fresh attempts."""
        with self._change() as change:
            task = change.tables.tasks.get(task_id)
            if task is None:
                raise NotFound(f"there is no task {short(task_id)}")
            if task.status not in {TaskStatus.BLOCKED, TaskStatus.FAILED}:
                raise IllegalMove(
                    f"task {short(task_id)} is {task.status}: only a blocked or failed task "
                    "can be set going again"
                )
            reopen(change, task_id, by, why)
            return change.tables.tasks[task_id]


def reopen(change: Change, task_id: TaskId, by: str, why: str) -> None:
    """Make a blocked or failed task ready with fresh attempts."""
    change.set_task(
        task_id,
        status=TaskStatus.READY,
        attempts=0,
        due_at=change.now,
        reason=None,
        error=None,
        ended_at=None,
    )
    change.log(task_id, EventKind.TASK_REOPENED, by=by, why=why)


def settle_task_failed(change: Change, task: Task, reason: str, error: Kept | None) -> None:
    """Move a task to failed, with the event."""
    change.free_task(task.id, TaskStatus.FAILED, reason=reason, error=error, ended_at=change.now)
    change.log(task.id, EventKind.TASK_FAILED, token=task.token, **told(reason, error))


def _same(known: Task, new: NewTask) -> Task:
    if (known.workflow, known.input_sha) != (new.workflow, new.input_sha):
        raise KeyConflict(
            f"the key {new.key!r} was used for task {short(known.id)} with another workflow or "
            "input: use a new key"
        )
    return known


def _insert(change: Change, new: NewTask) -> Task:
    task = Task(
        id=new.id,
        conversation_id=new.conversation_id,
        workflow=new.workflow,
        status=TaskStatus.READY,
        input=new.input,
        input_id=new.input_artifact.ref.id if new.input_artifact else None,
        input_sha=new.input_sha,
        key=new.key,
        owner=None,
        token=0,
        lease_until=None,
        attempts=0,
        max_attempts=new.max_attempts,
        due_at=change.now,
        last_seq=0,
        artifact_id=None,
        reason=None,
        error=None,
        created_at=change.now,
        ended_at=None,
    )
    tables = change.tables
    change.put(tables.tasks, new.id, task)
    earlier = tables.conversations.get(new.conversation_id, ())
    change.put(tables.conversations, new.conversation_id, (*earlier, new.id))
    if new.key is not None:
        change.put(tables.keys, new.key, new.id)
    change.record(new.id, new.input_artifact)
    change.log(new.id, EventKind.TASK_SUBMITTED, workflow=new.workflow, input_sha=new.input_sha)
    return tables.tasks[new.id]
