"""The in-memory store's verdicts on uncertain steps."""

from __future__ import annotations

from keptstep.models.decisions import Verdict
from keptstep.models.errors import BadInput, IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.records import Ruling, Settled, Step
from keptstep.models.states import TASK_FINISHED, StepStatus
from keptstep.models.stores.memory_data import Change, MemoryBase, ref_facts
from keptstep.models.stores.memory_steps import settle_done, settle_failed


class VerdictVerbs(MemoryBase):
    """See ``TaskStore`` for what each verb promises."""

    def settle(self, found: Step, ruling: Ruling) -> Settled:
        """Carry out a verdict on an uncertain step that is still as it was found."""
        with self._change() as change:
            step = change.tables.steps.get(found.id)
            status = StepStatus.UNCERTAIN
            if step is None or step.status is not status or step.token != found.token:
                raise IllegalMove(f"step {found.name} was settled or started again meanwhile")
            change.log_step(
                step,
                EventKind.STEP_SETTLED,
                step.token,
                verdict=ruling.verdict,
                by=ruling.by,
                why=ruling.why,
            )
            if ruling.verdict is Verdict.HAPPENED:
                return _happened(change, step, ruling)
            over = change.tables.tasks[step.task_id].status
            if ruling.verdict is Verdict.ABANDON:
                return _failed(change, step, f"abandoned by {ruling.by}: {ruling.why}")
            if over in TASK_FINISHED:
                return _failed(change, step, f"it did not happen, and its task is {over}")
            fresh = change.set_step(
                step.id,
                status=StepStatus.READY,
                attempts=0,
                due_at=change.now,
                reason=None,
                error=None,
            )
            return Settled(fresh)


def _happened(change: Change, step: Step, ruling: Ruling) -> Settled:
    if ruling.evidence is None:
        raise BadInput("a verdict that it happened brings the evidence")
    ref = ruling.evidence.ref
    change.record(step.task_id, ruling.evidence)
    change.set_step(step.id, artifact_id=ref.id)
    change.log_step(step, EventKind.PAYLOAD_PERSISTED, step.token, size=ref.size, **ref_facts(ref))
    change.log_step(step, EventKind.TOOL_RESULT_PERSISTED, step.token, **ref_facts(ref))
    return settle_done(change, step.id)


def _failed(change: Change, step: Step, reason: str) -> Settled:
    return settle_failed(change, step, reason, None)
