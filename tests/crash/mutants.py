"""One rule of the protocol switched off: the crash tests must notice, or they prove nothing."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select, text, update

from keptstep.models.records import Due
from keptstep.models.stores import sql, sql_reads, sql_steps
from keptstep.models.stores.prepared import Prepared
from keptstep.models.stores.sql_rows import STEP
from keptstep.workers import sweeper
from keptstep.workflows import kernel


def apply(name: str) -> None:
    """Switch off one rule of this process by its name."""
    {
        "no-claim": _no_claim,
        "no-fence": _no_fence,
        "done-runs-again": _done_runs_again,
        "uncertain-runs-again": _uncertain_runs_again,
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
        every = connection.execute(select(STEP.c.id)).scalars().all()
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
