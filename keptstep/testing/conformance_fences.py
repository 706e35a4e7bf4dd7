# ruff: noqa: D102, S101 - the names of the tests say what is checked
"""The fence: nothing is written under a token that is no longer current.

Every verb that takes a lease is tried in every way a lease can be lost.
"""

from __future__ import annotations

from collections.abc import Callable

from keptstep.models.decisions import Block, Decision, Fail, Run
from keptstep.models.errors import LeaseLost
from keptstep.models.events import EventKind
from keptstep.models.records import StepLease, TaskLease
from keptstep.models.states import StepStatus
from keptstep.testing.builders import failure, new_step, payload
from keptstep.testing.conformance_base import BOB, LEASE, StoreSuite, refused
from keptstep.workflows.ports import TaskStore

_STEP_VERBS: tuple[Callable[[TaskStore, StepLease], object], ...] = (
    lambda store, lease: store.mark(lease, payload()),
    lambda store, lease: store.finish(lease, payload()),
    lambda store, lease: store.retry(lease, failure(), 1.0),
    lambda store, lease: store.fail(lease, failure()),
    lambda store, lease: store.block(lease, failure()),
    lambda store, lease: store.release(lease),
)
_TASK_VERBS: tuple[Callable[[TaskStore, TaskLease], object], ...] = (
    lambda store, lease: store.plan(lease, [new_step("too-late")]),
    lambda store, lease: store.plan(lease, []),
    lambda store, lease: store.leave(lease, 0),
    lambda store, lease: store.leave(lease, 99),
    lambda store, lease: store.release_task(lease),
    lambda store, lease: store.finish_task(lease, payload()),
    lambda store, lease: store.fail_task(lease, failure(), 1.0),
    lambda store, lease: store.fail_task(lease, failure(), None),
    lambda store, lease: store.block_task(lease, failure()),
)


class StepFenceSuite(StoreSuite):
    """A worker that lost its step writes nothing but evidence."""

    def test_after_another_worker_took_the_step(self) -> None:
        lease = self.running()
        self._recover(lease, Run("the lease ended"))
        self.claim(lease.step, BOB)
        self._all_refused(lease)

    def test_after_the_step_was_taken_back(self) -> None:
        lease = self.running()
        self._recover(lease, Run("the lease ended"))
        self._all_refused(lease)

    def test_after_the_step_was_declared_uncertain(self) -> None:
        lease = self.running()
        self._recover(lease, Block("the lease ended"))
        self._all_refused(lease)

    def test_after_its_last_attempt_was_declared_dead(self) -> None:
        lease = self.running(max_attempts=1)
        self._recover(lease, Fail("the lease ended"))
        self._all_refused(lease)

    def test_after_the_step_was_rolled_forward(self) -> None:
        lease = self.running()
        self.store.mark(lease, payload())
        self._recover(lease, Run("its result was kept", roll_forward=True))
        self._all_refused(lease)

    def test_after_it_gave_the_step_back_itself(self) -> None:
        lease = self.running()
        self.store.release(lease)
        self._all_refused(lease)

    def test_after_it_recorded_a_failed_attempt(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 0.0)
        self._all_refused(lease)

    def test_after_it_finished_the_step(self) -> None:
        lease = self.running()
        self.store.finish(lease, payload())
        self._all_refused(lease)

    def test_after_it_failed_the_step(self) -> None:
        lease = self.running()
        self.store.fail(lease, failure())
        self._all_refused(lease)

    def test_the_same_worker_is_fenced_from_its_own_earlier_attempt(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 0.0)
        self.claim(lease.step, lease.worker)
        self._all_refused(lease)

    def test_the_end_of_a_lease_alone_fences_nobody(self) -> None:
        lease = self.running()
        self.clock.advance(LEASE + 1)
        assert self.store.finish(lease, payload()).step.status is StepStatus.DONE

    def test_a_late_result_is_kept_as_evidence_and_changes_no_record(self) -> None:
        lease = self.running()
        self._recover(lease, Run("the lease ended"))
        winner = self.claim(lease.step, BOB)
        kept, late = payload("the recorded one"), payload("the late one")
        self.store.finish(winner, kept)
        step, attempts = self.store.step(lease.step.id), self.store.attempts(lease.step.id)
        self.store.keep_late(lease, late)
        assert self.store.step(lease.step.id) == step
        assert self.store.attempts(lease.step.id) == attempts
        assert step.artifact_id == kept.ref.id
        assert self.store.artifact(late.ref.id) == late.ref
        event = self.last_event(step.task_id)
        assert (event.kind, event.step_id) == (EventKind.LATE_RESULT, step.id)
        assert (event.token, event.data["sha"]) == (lease.token, late.ref.sha)

    def _recover(self, lease: StepLease, decision: Decision) -> None:
        self.clock.advance(LEASE + 1)
        found = self.store.step(lease.step.id)
        assert self.store.recover(found, decision) is not None

    def _all_refused(self, lease: StepLease) -> None:
        for verb in _STEP_VERBS:
            with self.unchanged(lease.step.task_id), refused(LeaseLost):
                verb(self.store, lease)


class TaskFenceSuite(StoreSuite):
    """A coordinator that lost its task plans and records nothing."""

    def test_after_another_worker_took_the_advance(self) -> None:
        lease = self.advance()
        self.clock.advance(LEASE + 1)
        self.store.recover_tasks([])
        self.advance(lease.task, BOB)
        self._all_refused(lease)

    def test_after_the_advance_was_taken_back(self) -> None:
        lease = self.advance()
        self.clock.advance(LEASE + 1)
        self.store.recover_tasks([])
        self._all_refused(lease)

    def test_after_it_left(self) -> None:
        lease = self.advance()
        self.leave(lease)
        self._all_refused(lease)

    def test_after_it_gave_the_advance_back(self) -> None:
        lease = self.advance()
        self.store.release_task(lease)
        self._all_refused(lease)

    def test_after_it_recorded_a_failure(self) -> None:
        lease = self.advance()
        self.store.fail_task(lease, failure(), 5.0)
        self._all_refused(lease)

    def test_after_the_task_ended(self) -> None:
        done, failed, blocked = self.advance(), self.advance(), self.advance()
        self.store.finish_task(done, payload())
        self.store.fail_task(failed, failure(), None)
        self.store.block_task(blocked, failure())
        for lease in (done, failed, blocked):
            self._all_refused(lease)

    def test_the_end_of_a_lease_alone_fences_nobody(self) -> None:
        lease = self.advance()
        self.clock.advance(LEASE + 1)
        assert len(self.store.plan(lease, [new_step()])) == 1

    def _all_refused(self, lease: TaskLease) -> None:
        for verb in _TASK_VERBS:
            with self.unchanged(lease.task.id), refused(LeaseLost):
                verb(self.store, lease)
