"""``SqlTaskStore``: the task store on a SQL database; the verbs are in the files beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.exc import DBAPIError

from keptstep.models.decisions import Decision
from keptstep.models.errors import HomeNotWritable
from keptstep.models.ids import StepId, TaskId, WorkerId
from keptstep.models.migrations.runner import migrate
from keptstep.models.records import (
    Due,
    Failure,
    Lost,
    NewArtifact,
    NewStep,
    NewTask,
    Notice,
    Ruling,
    Settled,
    Step,
    StepLease,
    Task,
    TaskLease,
)
from keptstep.models.stores import (
    sql_failures,
    sql_notices,
    sql_pauses,
    sql_plan,
    sql_reads,
    sql_recovery,
    sql_steps,
    sql_tasks,
    sql_verdicts,
)
from keptstep.models.stores.committer import Committer, Tx
from keptstep.models.stores.engine import told, writer_engine
from keptstep.models.stores.sql_reading import SqlReading

if TYPE_CHECKING:
    from keptstep.workflows.ports import Clock

T = TypeVar("T")


def open_sql_store(
    database: Path, *, clock: Clock, busy_timeout: float = 10.0, max_steps: int = 100_000
) -> SqlTaskStore:
    """Open, and where needed make or migrate, the SQLite database at ``database``.

    Raises ``SchemaNewer`` before a byte is written, ``StoreDamaged``, ``HomeNotWritable``,
    ``StoreBusy``.
    """
    try:
        database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(database.parent, os.W_OK):
            raise PermissionError(f"no right to write in {database.parent}")
        migrate(database, busy_timeout)
        if database.stat().st_mode & 0o077:
            database.chmod(0o600)
    except OSError as error:
        raise HomeNotWritable(
            f"the home {database.parent} cannot be used ({error.strerror or error}): choose "
            "another with --home"
        ) from None
    except (DBAPIError, sqlite3.Error) as error:
        raise told(error, database) from None
    return SqlTaskStore(database, clock, busy_timeout, max_steps)


class SqlTaskStore(SqlReading):
    """Every verb of the ``TaskStore`` port, durable when it returns."""

    def __init__(self, database: Path, clock: Clock, busy_timeout: float, max_steps: int) -> None:
        super().__init__(database, clock, busy_timeout)
        self._max_steps = max_steps
        self._committer = Committer(writer_engine(database, busy_timeout), database, clock)

    def _write(self, verb: Callable[..., T], *given: Any) -> T:
        def work(tx: Tx) -> T:
            return verb(tx, *given)

        return self._committer.run(work)

    def close(self) -> None:
        """Commit what was asked for, then let go of the database."""
        self._committer.close()
        self._readers.dispose()

    # -- tasks -------------------------------------------------------------------------------
    def submit(self, new: NewTask) -> tuple[Task, bool]:
        """See ``TaskStore.submit``."""
        return self._write(sql_tasks.submit, new)

    def claim_task(
        self,
        task_id: TaskId,
        worker: WorkerId,
        lease: float,
        workflows: Collection[str] | None = None,
    ) -> TaskLease | None:
        """See ``TaskStore.claim_task``."""
        return self._write(sql_tasks.claim, task_id, worker, lease, workflows)

    def plan(self, lease: TaskLease, steps: Sequence[NewStep]) -> list[Step]:
        """See ``TaskStore.plan``."""
        return self._write(sql_plan.plan, lease, steps, self._max_steps)

    def leave(self, lease: TaskLease, seen: int) -> Task:
        """See ``TaskStore.leave``."""
        return self._write(sql_tasks.leave, lease, seen)

    def release_task(self, lease: TaskLease) -> Task:
        """See ``TaskStore.release_task``."""
        return self._write(sql_tasks.release, lease)

    def finish_task(self, lease: TaskLease, result: NewArtifact) -> Task:
        """See ``TaskStore.finish_task``."""
        return self._write(sql_tasks.finish, lease, result)

    def fail_task(self, lease: TaskLease, failure: Failure, delay: float | None) -> Task:
        """See ``TaskStore.fail_task``."""
        return self._write(sql_tasks.fail, lease, failure, delay)

    def block_task(self, lease: TaskLease, failure: Failure) -> Task:
        """See ``TaskStore.block_task``."""
        return self._write(sql_tasks.block, lease, failure)

    def reopen_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """See ``TaskStore.reopen_task``."""
        return self._write(sql_tasks.reopen, task_id, by, why)

    def pause_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """See ``TaskStore.pause_task``."""
        return self._write(sql_pauses.pause, task_id, by, why)

    def unpause_task(self, task_id: TaskId, by: str, why: str) -> Task:
        """See ``TaskStore.unpause_task``."""
        return self._write(sql_pauses.unpause, task_id, by, why)

    # -- steps -------------------------------------------------------------------------------
    def claim_step(
        self,
        step_id: StepId,
        worker: WorkerId,
        lease: float,
        tools: Collection[str] | None = None,
    ) -> StepLease | None:
        """See ``TaskStore.claim_step``."""
        return self._write(sql_steps.claim, step_id, worker, lease, tools)

    def mark(self, lease: StepLease, payload: NewArtifact) -> None:
        """See ``TaskStore.mark``."""
        return self._write(sql_steps.mark, lease, payload)

    def finish(self, lease: StepLease, payload: NewArtifact) -> Settled:
        """See ``TaskStore.finish``."""
        return self._write(sql_steps.finish, lease, payload)

    def retry(self, lease: StepLease, failure: Failure, delay: float) -> Settled:
        """See ``TaskStore.retry``."""
        return self._write(sql_failures.retry, lease, failure, delay)

    def fail(self, lease: StepLease, failure: Failure) -> Settled:
        """See ``TaskStore.fail``."""
        return self._write(sql_failures.fail, lease, failure)

    def block(self, lease: StepLease, failure: Failure) -> Settled:
        """See ``TaskStore.block``."""
        return self._write(sql_failures.block, lease, failure)

    def release(self, lease: StepLease) -> Settled:
        """See ``TaskStore.release``."""
        return self._write(sql_steps.release, lease)

    def keep_late(self, lease: StepLease, payload: NewArtifact) -> None:
        """See ``TaskStore.keep_late``."""
        return self._write(sql_steps.keep_late, lease, payload)

    def requeue(self, step_id: StepId, by: str, why: str) -> Settled:
        """See ``TaskStore.requeue``."""
        return self._write(sql_failures.requeue, step_id, by, why)

    def settle(self, found: Step, ruling: Ruling) -> Settled:
        """See ``TaskStore.settle``."""
        return self._write(sql_verdicts.settle, found, ruling)

    # -- leases and recovery -----------------------------------------------------------------
    def renew(
        self, worker: WorkerId, lease: float, steps: Collection[StepId], tasks: Collection[TaskId]
    ) -> Lost:
        """See ``TaskStore.renew``."""
        return self._write(sql_recovery.renew, worker, lease, steps, tasks)

    def owners(self) -> set[WorkerId]:
        """See ``TaskStore.owners``."""
        return self._read(sql_reads.owners)

    def orphans(self, dead: Collection[WorkerId], limit: int = 100) -> list[Step]:
        """See ``TaskStore.orphans``."""
        return self._read(sql_reads.orphans, self._clock.now(), dead, limit)

    def recover(
        self, found: Step, decision: Decision, dead: Collection[WorkerId] = ()
    ) -> Settled | None:
        """See ``TaskStore.recover``."""
        return self._write(sql_recovery.recover, found, decision, dead)

    def recover_tasks(self, dead: Collection[WorkerId], limit: int = 100) -> list[Task]:
        """See ``TaskStore.recover_tasks``."""
        return self._write(sql_recovery.recover_tasks, dead, limit)

    def due(
        self,
        limit: int = 1000,
        *,
        only: Collection[TaskId] | None = None,
        tools: Collection[str] | None = None,
        workflows: Collection[str] | None = None,
    ) -> Due:
        """See ``TaskStore.due``."""
        return self._read(sql_reads.due, self._clock.now(), limit, only, tools, workflows)

    # -- what a person is to be told ---------------------------------------------------------
    def claim_notices(self, limit: int, lease: float) -> list[Notice]:
        """See ``TaskStore.claim_notices``."""
        if not self._read(sql_notices.any_due, self._clock.now()):
            return []
        return self._write(sql_notices.claim, limit, lease)

    def notice_sent(self, notice: Notice) -> None:
        """See ``TaskStore.notice_sent``."""
        return self._write(sql_notices.sent, notice)

    def notice_failed(self, notice: Notice, delay: float | None) -> None:
        """See ``TaskStore.notice_failed``."""
        return self._write(sql_notices.failed, notice, delay)
