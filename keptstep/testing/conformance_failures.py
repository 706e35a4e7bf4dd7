# ruff: noqa: D102, S101, PLR2004 - the names of the tests say what is checked
"""Attempts that leave no result: retried, failed for good, uncertain, given back, requeued."""

from __future__ import annotations

from keptstep.models.artifacts import Effect
from keptstep.models.errors import IllegalMove, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import StepId
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.builders import bell, failure, identity, new_step, payload
from keptstep.testing.conformance_base import ANN, LEASE, StoreSuite, refused


class RetrySuite(StoreSuite):
    """A failed attempt counts, says why, and is due again when its policy says."""

    def test_a_failed_attempt_is_due_again_after_the_delay(self) -> None:
        lease, failed = self.running(), failure("the page did not load")
        self.clock.advance(2)
        settled = self.store.retry(lease, failed, 30.0)
        step = self.store.step(lease.step.id)
        assert settled.step == step
        assert (settled.readied, settled.task_due) == ((), False)
        assert (step.status, step.due_at) == (StepStatus.READY, self.clock.now() + 30)
        assert (step.owner, step.lease_until, step.attempts) == (None, None, 1)
        assert (step.reason, step.error) == (failed.reason, failed.error)
        event = self.last_event(step.task_id)
        assert (event.kind, event.token) == (EventKind.STEP_RETRY, lease.token)
        assert (event.data["due_at"], event.data["reason"]) == (step.due_at, failed.reason)

    def test_the_attempt_says_how_it_failed_and_where_the_text_is(self) -> None:
        lease, failed = self.running(), failure()
        self.store.retry(lease, failed, 0.0)
        (attempt,) = self.store.attempts(lease.step.id)
        assert (attempt.outcome, attempt.error) == ("failed", failed.error)
        assert attempt.ended_at == self.clock.now()
        assert failed.text is not None
        assert self.store.artifact(failed.text.ref.id) == failed.text.ref

    def test_the_next_attempt_has_the_next_token_and_number(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 0.0)
        again = self.claim(lease.step)
        assert (again.token, again.step.attempts) == (2, 2)
        assert [(a.n, a.token) for a in self.store.attempts(lease.step.id)] == [(1, 1), (2, 2)]

    def test_the_last_attempt_cannot_be_followed_by_another(self) -> None:
        lease = self.running(max_attempts=1)
        with self.unchanged(lease.step.task_id), refused(IllegalMove):
            self.store.retry(lease, failure(), 0.0)
        assert self.store.fail(lease, failure()).step.status is StepStatus.FAILED

    def test_a_retry_wakes_nobody(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 0.0)
        task = self.store.task(lease.step.task_id)
        assert task.status is TaskStatus.WAITING


class DeadLetterSuite(StoreSuite):
    """A step that failed for good says why, and only an operator sets it going again."""

    def test_a_dead_letter_is_failed_with_its_reason(self) -> None:
        lease, failed = self.running(), failure("not found")
        settled = self.store.fail(lease, failed)
        step = self.store.step(lease.step.id)
        assert settled.step == step
        assert (step.status, step.reason, step.error) == (
            StepStatus.FAILED,
            failed.reason,
            failed.error,
        )
        assert (step.owner, step.lease_until, step.attempts) == (None, None, 1)
        (attempt,) = self.store.attempts(step.id)
        assert (attempt.outcome, attempt.error) == ("failed", failed.error)
        event = self.last_event(step.task_id)
        assert (event.kind, event.data["reason"]) == (EventKind.STEP_FAILED, failed.reason)

    def test_a_dead_letter_wakes_the_task(self) -> None:
        lease = self.running()
        assert self.store.fail(lease, failure()).task_due
        task = self.store.task(lease.step.task_id)
        assert (task.status, task.due_at) == (TaskStatus.READY, self.clock.now())

    def test_an_operator_sets_it_going_again_with_fresh_attempts(self) -> None:
        lease = self.running(max_attempts=1)
        self.store.fail(lease, failure())
        self.clock.advance(60)
        settled = self.store.requeue(lease.step.id, "kim", "the site is up")
        step = self.store.step(lease.step.id)
        assert settled.step == step
        assert (step.status, step.attempts) == (StepStatus.READY, 0)
        assert (step.due_at, step.reason, step.error) == (self.clock.now(), None, None)
        event = self.last_event(step.task_id)
        assert event.kind is EventKind.STEP_REQUEUED
        assert (event.data["by"], event.data["why"]) == ("kim", "the site is up")

    def test_tokens_and_attempt_numbers_grow_across_a_requeue(self) -> None:
        lease = self.running(max_attempts=1)
        self.store.fail(lease, failure())
        self.store.requeue(lease.step.id, "kim", "again")
        again = self.claim(lease.step)
        assert (again.token, again.step.attempts) == (2, 1)
        assert [a.n for a in self.store.attempts(lease.step.id)] == [1, 2]
        assert self.last_event(lease.step.task_id).data["attempt"] == 2

    def test_only_a_failed_step_is_requeued(self) -> None:
        done, uncertain, running = self.running(), self.running(), self.running()
        (ready,) = self.planned()
        self.store.finish(done, payload())
        self.store.block(uncertain, failure())
        for step in (done.step, uncertain.step, running.step, ready):
            with self.unchanged(step.task_id), refused(IllegalMove):
                self.store.requeue(step.id, "kim", "no reason")
        with refused(NotFound):
            self.store.requeue(StepId(identity("step")), "kim", "no reason")

    def test_a_step_of_a_done_task_is_not_requeued(self) -> None:
        advance = self.advance()
        (step,) = self.store.plan(advance, [new_step()])
        self.store.fail(self.claim(step), failure())
        self.store.finish_task(advance, payload())
        with self.unchanged(step.task_id), refused(IllegalMove):
            self.store.requeue(step.id, "kim", "too late")

    def test_requeueing_a_step_reopens_the_task_that_failed_of_it(self) -> None:
        advance = self.advance()
        (step,) = self.store.plan(advance, [new_step()])
        self.store.fail(self.claim(step), failure())
        self.store.fail_task(advance, failure(), None)
        settled = self.store.requeue(step.id, "kim", "the site is up")
        assert settled.task_due
        task = self.store.task(step.task_id)
        assert (task.status, task.attempts, task.ended_at) == (TaskStatus.READY, 0, None)
        kinds = [event.kind for event in self.store.events(task.id)][-2:]
        assert kinds == [EventKind.TASK_REOPENED, EventKind.STEP_REQUEUED]
        assert self.store.due().steps == (bell(step),)


class UncertainSuite(StoreSuite):
    """A step whose outcome is unknown stops until a verdict (D1)."""

    def test_an_unknown_outcome_makes_the_step_uncertain(self) -> None:
        lease, failed = self.running(effect=Effect.SIDE_EFFECT), failure("no answer")
        settled = self.store.block(lease, failed)
        step = self.store.step(lease.step.id)
        assert settled.step == step
        assert (settled.readied, settled.task_due) == ((), False)
        assert (step.status, step.reason, step.error) == (
            StepStatus.UNCERTAIN,
            failed.reason,
            failed.error,
        )
        assert (step.owner, step.lease_until) == (None, None)
        (attempt,) = self.store.attempts(step.id)
        assert attempt.outcome == "uncertain"
        assert self.last_event(step.task_id).kind is EventKind.STEP_UNCERTAIN

    def test_it_wakes_nobody_and_is_not_due(self) -> None:
        lease = self.running()
        self.store.block(lease, failure())
        assert self.store.task(lease.step.task_id).status is TaskStatus.WAITING
        assert self.store.due().steps == ()

    def test_what_was_marked_stays_as_evidence(self) -> None:
        lease, kept = self.running(), payload()
        self.store.mark(lease, kept)
        self.store.block(lease, failure())
        assert self.store.step(lease.step.id).artifact_id == kept.ref.id


class ReleaseSuite(StoreSuite):
    """A planned shutdown gives a step back as if it had not been claimed (D16)."""

    def test_a_released_step_is_ready_now_and_not_counted(self) -> None:
        lease = self.running()
        self.clock.advance(2)
        settled = self.store.release(lease)
        step = self.store.step(lease.step.id)
        assert settled.step == step
        assert (step.status, step.attempts) == (StepStatus.READY, 0)
        assert (step.due_at, step.owner, step.lease_until) == (self.clock.now(), None, None)
        event = self.last_event(step.task_id)
        assert (event.kind, event.token) == (EventKind.STEP_RELEASED, lease.token)

    def test_the_attempt_stays_on_record(self) -> None:
        lease = self.running()
        self.store.release(lease)
        (attempt,) = self.store.attempts(lease.step.id)
        assert (attempt.outcome, attempt.error) == ("released", None)
        again = self.claim(lease.step)
        assert (again.token, again.step.attempts) == (2, 1)
        assert [a.n for a in self.store.attempts(lease.step.id)] == [1, 2]

    def test_releases_without_end_do_not_use_up_the_attempts(self) -> None:
        (step,) = self.planned(new_step(max_attempts=1))
        for _ in range(5):
            self.store.release(self.claim(step))
        assert self.store.claim_step(step.id, ANN, LEASE) is not None

    def test_a_released_step_is_due_even_if_the_clock_was_set_back(self) -> None:
        lease = self.running()
        self.clock.set_back(7200)
        self.store.release(lease)
        assert bell(lease.step) in self.store.due().steps
