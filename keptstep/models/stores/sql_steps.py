"""The verbs of an attempt: claim, mark, finish and the ways it can fail. All are fenced."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, case, func, insert, select, update

from keptstep.models.errors import LeaseLost, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, WorkerId
from keptstep.models.records import Failure, NewArtifact, Settled, Step, StepLease
from keptstep.models.states import StepStatus
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.prepared import Prepared, one_of
from keptstep.models.stores.sql_changes import Log, error_columns, record, task_open, wake
from keptstep.models.stores.sql_plan import ready_dependents
from keptstep.models.stores.sql_rows import ATTEMPT, NEED, STEP, TASK, as_step

FREE: dict[str, Any] = {"owner": None, "lease_until": None}
_CLAIM = (
    update(STEP)
    .where(
        STEP.c.id == bindparam("step"),
        STEP.c.status == StepStatus.READY,
        STEP.c.due_at <= bindparam("time"),
        STEP.c.attempts < STEP.c.max_attempts,
        task_open(),
    )
    .values(
        status=StepStatus.RUNNING,
        owner=bindparam("who"),
        token=STEP.c.token + 1,
        attempts=STEP.c.attempts + 1,
        lease_until=case(
            (STEP.c.deadline < bindparam("length"), bindparam("time") + STEP.c.deadline),
            else_=bindparam("time") + bindparam("length"),
        ),
        started_at=bindparam("time"),
        artifact_id=None,
    )
    .returning(*STEP.c)
)
_CLAIM_ANY = Prepared(_CLAIM)
_NEXT_ATTEMPT = Prepared(
    select(func.coalesce(func.max(ATTEMPT.c.n), 0) + 1).where(
        ATTEMPT.c.step_id == bindparam("step")
    )
)
_ADD_ATTEMPT = Prepared(insert(ATTEMPT), ["step_id", "n", "worker", "token", "started_at"])
_NEEDS = Prepared(
    select(NEED.c.needs_id).where(NEED.c.step_id == bindparam("step")).order_by(NEED.c.needs_id)
)
_END_ATTEMPT = Prepared(
    update(ATTEMPT)
    .where(ATTEMPT.c.step_id == bindparam("step"), ATTEMPT.c.token == bindparam("held"))
    .values(
        ended_at=bindparam("time"),
        outcome=bindparam("how"),
        error_kind=bindparam("kind"),
        error_id=bindparam("text"),
    )
)
_MINE = (
    (STEP.c.id == bindparam("step"))
    & (STEP.c.token == bindparam("held"))
    & (STEP.c.status == StepStatus.RUNNING)
)
_MARKED = Prepared(select(STEP.c.artifact_id).where(_MINE))
_MARK = Prepared(update(STEP).where(_MINE).values(artifact_id=bindparam("payload")))
_FINISH = Prepared(
    update(STEP)
    .where(_MINE)
    .values(
        status=StepStatus.DONE,
        artifact_id=bindparam("payload"),
        reason=None,
        error_kind=None,
        error_id=None,
        **FREE,
    )
    .returning(*STEP.c)
)


def lease_lost(lease: StepLease) -> LeaseLost:
    """Say which attempt is no longer the current one."""
    return LeaseLost(
        f"attempt {lease.attempt} of step {lease.step.name} lost its lease (token {lease.token}): "
        "somebody else goes on with it"
    )


def claim(
    tx: Tx, step_id: StepId, worker: WorkerId, lease: float, tools: Collection[str] | None
) -> StepLease | None:
    """Take a step: lease, token, attempt and the start of its envelope."""
    statement = _CLAIM_ANY if tools is None else _claim_known(frozenset(tools))
    row = statement.run(tx.connection, step=step_id, time=tx.now, who=worker, length=lease).first()
    if row is None:
        return None
    step = as_step(row, _NEEDS.run(tx.connection, step=step_id).scalars())
    number = _NEXT_ATTEMPT.run(tx.connection, step=step_id).scalar()
    attempt = {"step_id": step_id, "n": number, "worker": worker, "token": step.token}
    _ADD_ATTEMPT.run(tx.connection, started_at=tx.now, **attempt)
    log = Log(step.task_id)
    log.add(
        EventKind.TOOL_CALL_STARTED,
        step_id,
        step.token,
        attempt=number,
        worker=worker,
        input_sha=step.input_sha,
        deadline=step.deadline,
    )
    log.write(tx)
    return StepLease(step, step.token, worker, step.lease_until or tx.now)


@lru_cache(maxsize=64)
def _claim_known(tools: frozenset[str]) -> Prepared:
    """Return the claim for a worker that knows these tools: the same ones all its life."""
    return Prepared(_CLAIM.where(one_of(STEP.c.tool, sorted(tools))))


def mark(tx: Tx, lease: StepLease, payload: NewArtifact) -> None:
    """Record that the payload is kept."""
    log = Log(lease.step.task_id)
    if _persist(tx, lease, payload, log):
        _MARK.run(tx.connection, step=lease.step.id, held=lease.token, payload=payload.ref.id)
        log.write(tx)


def finish(tx: Tx, lease: StepLease, payload: NewArtifact) -> Settled:
    """Record a result: the step is done."""
    log = Log(lease.step.task_id)
    _persist(tx, lease, payload, log)
    held = {"step": lease.step.id, "held": lease.token, "payload": payload.ref.id}
    row = _FINISH.run(tx.connection, **held).first()
    if row is None:
        raise lease_lost(lease)
    step = as_step(row, lease.step.needs)
    end_attempt(tx, step.id, lease.token, "done")
    return settle_done(tx, step, lease.token, log, sha=payload.ref.sha)


def settle_done(tx: Tx, step: Step, token: int, log: Log, **data: Any) -> Settled:
    """Write what follows a done step: its event, the steps it readies, the task's wake."""
    artifact = step.artifact_id.hex() if step.artifact_id else None
    log.add(EventKind.TOOL_RESULT_PERSISTED, step.id, token, artifact=artifact, **data)
    readied = ready_dependents(tx, step.id, log)
    due = wake(tx, step.task_id, progress=True)
    log.write(tx)
    return Settled(step, readied, due)


def release(tx: Tx, lease: StepLease) -> Settled:
    """Give a step back uncounted."""
    step = change(tx, lease, status=StepStatus.READY, attempts=STEP.c.attempts - 1, due_at=tx.now)
    end_attempt(tx, step.id, lease.token, "released")
    log = Log(step.task_id)
    log.add(EventKind.STEP_RELEASED, step.id, lease.token)
    log.write(tx)
    return Settled(step)


def keep_late(tx: Tx, lease: StepLease, payload: NewArtifact) -> None:
    """Keep a late result as evidence, if its task still lives."""
    found = tx.connection.execute(select(TASK.c.id).where(TASK.c.id == lease.step.task_id))
    if found.first() is None:
        return
    record(tx, lease.step.task_id, payload)
    log = Log(lease.step.task_id)
    log.add(
        EventKind.LATE_RESULT,
        lease.step.id,
        lease.token,
        artifact=payload.ref.id.hex(),
        sha=payload.ref.sha,
    )
    log.write(tx)


def read(tx: Tx, step_id: StepId) -> Step:
    """Return one step as the transaction sees it."""
    row = tx.connection.execute(select(STEP).where(STEP.c.id == step_id)).first()
    if row is None:
        raise NotFound(f"there is no step {step_id.hex()}")
    return as_step(row, _NEEDS.run(tx.connection, step=step_id).scalars())


def change(tx: Tx, lease: StepLease, **values: Any) -> Step:
    """Change a row that still belongs to this attempt, and free its lease."""
    mine = (
        (STEP.c.id == lease.step.id)
        & (STEP.c.token == lease.token)
        & (STEP.c.status == StepStatus.RUNNING)
    )
    statement = update(STEP).where(mine).values(**values, **FREE).returning(*STEP.c)
    row = tx.connection.execute(statement).first()
    if row is None:
        raise lease_lost(lease)
    return as_step(row, lease.step.needs)


def end_attempt(
    tx: Tx, step_id: StepId, token: int, outcome: str, failure: Failure | None = None
) -> None:
    """Close the attempt's own row."""
    columns = error_columns(failure.error if failure else None)
    _END_ATTEMPT.run(
        tx.connection,
        step=step_id,
        held=token,
        time=tx.now,
        how=outcome,
        kind=columns["error_kind"],
        text=columns["error_id"],
    )


def _persist(tx: Tx, lease: StepLease, payload: NewArtifact, log: Log) -> bool:
    """Record a payload; tell of it, and say so, unless the step is marked with it already."""
    marked = _MARKED.run(tx.connection, step=lease.step.id, held=lease.token).first()
    if marked is None:
        raise lease_lost(lease)
    record(tx, lease.step.task_id, payload)
    if marked["artifact_id"] == payload.ref.id:
        return False
    log.add(
        EventKind.PAYLOAD_PERSISTED,
        lease.step.id,
        lease.token,
        artifact=payload.ref.id.hex(),
        sha=payload.ref.sha,
        size=payload.ref.size,
    )
    return True
