"""Verdicts: a person's answer to a step whose outcome is not known (D3)."""

from __future__ import annotations

from typing import Any, assert_never

from sqlalchemy import select, update

from keptstep.models.decisions import Verdict
from keptstep.models.errors import BadInput, IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.records import NewArtifact, Ruling, Settled, Step
from keptstep.models.states import TASK_FINISHED, StepStatus
from keptstep.models.stores.committer import Tx
from keptstep.models.stores.sql_changes import Log, error_columns, record
from keptstep.models.stores.sql_failures import settle_failed
from keptstep.models.stores.sql_rows import STEP, TASK, as_step
from keptstep.models.stores.sql_steps import settle_done


def settle(tx: Tx, found: Step, ruling: Ruling) -> Settled:
    """Carry out a verdict if the step is still as it was found."""
    match ruling.verdict:
        case Verdict.HAPPENED:
            return _happened(tx, found, ruling)
        case Verdict.DID_NOT_HAPPEN:
            return _did_not_happen(tx, found, ruling)
        case Verdict.ABANDON:
            reason = f"abandoned by {ruling.by}: {ruling.why}"
            return _given_up(tx, found, ruling, reason)
        case _:
            assert_never(ruling.verdict)


def _happened(tx: Tx, found: Step, ruling: Ruling) -> Settled:
    evidence = ruling.evidence
    if evidence is None:
        raise BadInput("what happened needs evidence: it becomes the step's result")
    done = {"status": StepStatus.DONE, "artifact_id": evidence.ref.id, "reason": None}
    step = _change(tx, found, **done, **error_columns(None))
    record(tx, step.task_id, evidence)
    log = _log(tx, found, ruling)
    log.add(EventKind.PAYLOAD_PERSISTED, step.id, step.token, **_facts(evidence))
    return settle_done(tx, step, step.token, log, sha=evidence.ref.sha)


def _did_not_happen(tx: Tx, found: Step, ruling: Ruling) -> Settled:
    query = select(TASK.c.status).where(TASK.c.id == found.task_id)
    status = tx.connection.execute(query).scalar()
    if status in TASK_FINISHED:
        reason = f"it did not happen, and its task is {status}"
        return _given_up(tx, found, ruling, reason)
    fresh = {"status": StepStatus.READY, "attempts": 0, "due_at": tx.now, "reason": None}
    step = _change(tx, found, **fresh, **error_columns(None))
    _log(tx, found, ruling).write(tx)
    return Settled(step)


def _given_up(tx: Tx, found: Step, ruling: Ruling, reason: str) -> Settled:
    step = _change(tx, found, status=StepStatus.FAILED, reason=reason, **error_columns(None))
    _log(tx, found, ruling).write(tx)
    return settle_failed(tx, step, step.token, {"reason": reason})


def _change(tx: Tx, found: Step, **values: Any) -> Step:
    same = (
        (STEP.c.id == found.id)
        & (STEP.c.token == found.token)
        & (STEP.c.status == StepStatus.UNCERTAIN)
    )
    row = tx.connection.execute(
        update(STEP).where(same).values(**values).returning(*STEP.c)
    ).first()
    if row is None:
        raise IllegalMove(
            f"step {found.name} is not uncertain any more: look again, somebody settled it"
        )
    return as_step(row, found.needs)


def _log(tx: Tx, found: Step, ruling: Ruling) -> Log:
    log = Log(found.task_id)
    said = {"verdict": ruling.verdict, "by": ruling.by, "why": ruling.why}
    log.add(EventKind.STEP_SETTLED, found.id, found.token, **said)
    return log


def _facts(new: NewArtifact) -> dict[str, Any]:
    return {"artifact": new.ref.id.hex(), "sha": new.ref.sha, "size": new.ref.size}
