"""One step's protocol: claim, call, keep, mark, finish, and only then tell anybody (R38, R42).

Before the call the start is on record; after it the file is synced before the row, the row before
the answer. What a crash leaves in any window is for the kernel's ``resume_decision``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import assert_never

from keptstep.models.artifacts import Effect
from keptstep.models.errors import LeaseLost
from keptstep.models.ids import StepId, WorkerId
from keptstep.models.points import reach
from keptstep.models.records import Failure, NewArtifact, Settled, StepLease
from keptstep.models.states import StepStatus
from keptstep.workflows.held import Held
from keptstep.workflows.kernel import Block, CallEnd, Fail, Retry, failure_decision
from keptstep.workflows.ports import CallFailed, Doorbell, TaskStore, ToolRunner

log = logging.getLogger(__name__)


class Checkpoint:
    """Runs claimed steps for one worker."""

    def __init__(  # noqa: PLR0913 - the ports a step's protocol touches
        self,
        store: TaskStore,
        runner: ToolRunner,
        doorbell: Doorbell,
        held: Held,
        *,
        worker: WorkerId,
        lease: float,
        known_tools: Callable[[], Collection[str]],
    ) -> None:
        self._store = store
        self._runner = runner
        self._doorbell = doorbell
        self._held = held
        self._worker = worker
        self._lease = lease
        self._known_tools = known_tools

    def run(self, step_id: StepId) -> Settled | None:
        """Claim a step and run it; ``None`` if it is not to be run here and now."""
        reach("claim.before")
        lease = self._store.claim_step(step_id, self._worker, self._lease, self._known_tools())
        if lease is None:
            return None
        reach("claim.committed")
        with self._held.step(lease):
            settled = self._call(lease)
        if settled is not None:
            self.tell(settled)
        return settled

    def tell(self, settled: Settled) -> None:
        """Ring for what a settled step made due."""
        reach("show")
        for bell in settled.readied:
            self._doorbell.ring_step(*bell)
        again = settled.step.status is StepStatus.READY
        if again and settled.step.due_at <= self._store.now():
            self._doorbell.ring_step(settled.step.id, settled.step.tool)
        if settled.task_due or settled.step.status is StepStatus.UNCERTAIN:
            reach("ring.task")
            self._doorbell.ring_task(settled.step.task_id)

    def _call(self, lease: StepLease) -> Settled | None:
        try:
            reach("call.before")
            payload = self._runner.run(lease)
        except CallFailed as failed:
            return self._failed(lease, failed)
        return self._keep(lease, payload)

    def _keep(self, lease: StepLease, payload: NewArtifact) -> Settled | None:
        try:
            # For an effect the mark is a transaction of its own: from there on recovery needs no
            # second call. A read may simply be repeated, so its mark rides in the finish.
            if lease.step.effect is not Effect.NONE:
                self._store.mark(lease, payload)
                reach("mark.committed")
            reach("finish.before")
            settled = self._store.finish(lease, payload)
        except LeaseLost as lost:
            log.warning("%s; its result is kept as evidence", lost)
            self._store.keep_late(lease, payload)
            return None
        reach("finish.committed")
        return settled

    def _failed(self, lease: StepLease, failed: CallFailed) -> Settled | None:
        decision = failure_decision(lease.step, CallEnd(failed.end), failed.wait)
        failure = Failure(decision.reason, failed.failure.error, failed.failure.text)
        try:
            match decision:
                case Retry(delay=delay):
                    return self._store.retry(lease, failure, delay)
                case Fail():
                    return self._store.fail(lease, failure)
                case Block():
                    return self._store.block(lease, failure)
                case _:
                    assert_never(decision)
        except LeaseLost as lost:
            log.warning("%s; its failure is not recorded", lost)
            return None
