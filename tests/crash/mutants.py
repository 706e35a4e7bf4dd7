"""One rule of the protocol switched off: the crash tests must notice, or they prove nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select, text, update

from keptstep.models.artifacts import Blob
from keptstep.models.errors import NotFound
from keptstep.models.events import EventKind
from keptstep.models.points import reach
from keptstep.models.records import Bell, Due, Settled, StepLease
from keptstep.models.states import StepStatus
from keptstep.models.stores import engine, sql, sql_reads, sql_steps
from keptstep.models.stores.artifact_rules import Intake
from keptstep.models.stores.artifacts_fs import FileArtifactStore
from keptstep.models.stores.prepared import Prepared
from keptstep.models.stores.sql_changes import Log
from keptstep.models.stores.sql_rows import STEP
from keptstep.workers import sweeper
from keptstep.workflows import kernel
from keptstep.workflows.checkpoint import Checkpoint


def apply(name: str) -> None:
    """Switch off one rule of this process by its name."""
    {
        "no-claim": _no_claim,
        "no-fence": _no_fence,
        "done-runs-again": _done_runs_again,
        "uncertain-runs-again": _uncertain_runs_again,
        "start-after-call": _start_after_call,
        "told-before-record": _told_before_record,
        "row-before-file": _row_before_file,
        "done-in-two": _done_in_two,
        "kept-runs-again": _kept_runs_again,
        "new-key": _new_key,
        "name-not-synced": _name_not_synced,
        "log-not-synced": _log_not_synced,
    }[name]()


def _no_claim() -> None:
    """Take a step whoever holds it, and also when it is done: no condition on its status."""
    sql_steps._CLAIM = (
        update(STEP)
        .where(STEP.c.id == bindparam("step"))
        .values(
            status="running",
            owner=bindparam("who"),
            token=STEP.c.token + 1,
            attempts=STEP.c.attempts + 1,
            lease_until=bindparam("time") + bindparam("length"),
            started_at=bindparam("time"),
            artifact_id=None,
        )
        .returning(*STEP.c)
    )
    sql_steps._claim_known = lambda tools: Prepared(sql_steps._CLAIM)  # type: ignore[assignment]

    reads = sql_reads.due

    def everything(connection: Any, *given: Any) -> Any:
        found = reads(connection, *given)
        every = [Bell(*row) for row in connection.execute(select(STEP.c.id, STEP.c.tool))]
        return Due(tuple(every), found.tasks)

    vars(sql_reads)["due"] = everything


def _no_fence() -> None:
    """Let any attempt write, whatever its token and whoever finished before."""
    marked = select(STEP.c.artifact_id).where(STEP.c.id == bindparam("step"))
    sql_steps._MARKED = Prepared(marked)
    sql_steps._FINISH = Prepared(
        update(STEP)
        .where(STEP.c.id == bindparam("step"))
        .values(status="done", artifact_id=bindparam("payload"), owner=None, lease_until=None)
        .returning(*STEP.c)
    )


def _done_runs_again() -> None:
    """Make every step ready at start, whatever it was."""
    opened = sql.SqlTaskStore.__init__

    def opening(store: Any, *given: Any) -> None:
        opened(store, *given)

        def reset(tx: Any) -> None:
            tx.connection.execute(text("DROP TRIGGER IF EXISTS step_moves"))
            tx.connection.execute(
                text(
                    "UPDATE step SET status = 'ready', artifact_id = NULL, attempts = 0,"
                    " owner = NULL, lease_until = NULL"
                )
            )

        store._committer.run(reset)

    sql.SqlTaskStore.__init__ = opening  # type: ignore[assignment,method-assign]


def _uncertain_runs_again() -> None:
    """Treat an unpaired start of a side effect as if it could be repeated."""
    decide = kernel.resume_decision

    def eager(step: Any, now: float, **facts: Any) -> Any:
        decision = decide(step, now, **facts)
        return kernel.Run("again") if isinstance(decision, kernel.Block) else decision

    vars(sweeper)["resume_decision"] = eager


def _start_after_call() -> None:
    """Call first, and write the start down together with the claim after it."""

    def run(self: Any, step_id: Any) -> Any:
        try:
            step = self._store.step(step_id)
        except NotFound:
            return None
        if step.status is not StepStatus.READY:
            return None
        begun = replace(step, attempts=step.attempts + 1)
        payload = self._runner.run(StepLease(begun, step.token + 1, self._worker, 0.0))
        lease = self._store.claim_step(step_id, self._worker, self._lease, self._known_tools())
        if lease is None:
            return None
        settled = self._keep(lease, payload)
        self.tell(settled)
        return settled

    _patch(Checkpoint, "run", run)


def _told_before_record() -> None:
    """Tell of a result, and only then commit it."""
    keep = Checkpoint._keep

    def telling(self: Any, lease: StepLease, payload: Any) -> Any:
        self.tell(Settled(lease.step, task_due=True))
        return keep(self, lease, payload)

    _patch(Checkpoint, "_keep", telling)


def _row_before_file() -> None:
    """Commit the row of a result, and only then keep its file."""
    put, finish = FileArtifactStore.put, sql.SqlTaskStore.finish
    put_off: list[tuple[FileArtifactStore, list[bytes]]] = []

    def later(store: FileArtifactStore, chunks: Iterable[bytes], limit: Any = None) -> Blob:
        intake = Intake(chunks, limit or 1 << 30)
        put_off.append((store, list(intake)))
        return intake.blob

    def finishing(store: Any, *given: Any) -> Any:
        settled = finish(store, *given)
        for artifacts, chunks in put_off:
            put(artifacts, chunks)
        put_off.clear()
        return settled

    _patch(FileArtifactStore, "put", later)
    _patch(sql.SqlTaskStore, "finish", finishing)


def _done_in_two() -> None:
    """Commit that a step is done, and its event in a transaction of its own."""
    add, finish = Log.add, sql.SqlTaskStore.finish
    put_off: list[tuple[Any, ...]] = []

    def adding(log: Any, kind: EventKind, *given: Any, **data: Any) -> None:
        if kind is EventKind.TOOL_RESULT_PERSISTED:
            put_off.append((kind, *given))
        else:
            add(log, kind, *given, **data)

    def finishing(store: Any, lease: StepLease, payload: Any) -> Any:
        settled = finish(store, lease, payload)
        reach("finish.committed")

        def second(tx: Any) -> None:
            log = Log(lease.step.task_id)
            for event in put_off:
                add(log, *event)
            log.write(tx)

        store._committer.run(second)
        put_off.clear()
        return settled

    _patch(Log, "add", adding)
    _patch(sql.SqlTaskStore, "finish", finishing)


def _kept_runs_again() -> None:
    """Look at a kept result as if it were not there: never roll forward."""
    decide = kernel.resume_decision
    vars(sweeper)["resume_decision"] = lambda step, now, **facts: decide(
        step, now, **facts | {"payload_intact": False}
    )


def _new_key() -> None:
    """Offer a provider another key with each attempt."""
    from keptstep.models.records import Step

    key = property(lambda step: f"keptstep-{step.id.hex()}-{step.attempts}")
    _patch(Step, "idempotency_key", key)


def _name_not_synced() -> None:
    """Leave the folder of a new payload to the system."""
    _patch(FileArtifactStore, "_sync_name", lambda *_given: None)


def _log_not_synced() -> None:
    """Let SQLite answer before its log is on the disk."""
    vars(engine)["_FULL"] = 1


def _patch(owner: type, name: str, value: object) -> None:
    setattr(owner, name, value)
