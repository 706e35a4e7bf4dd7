# ruff: noqa: D102, S101, PLR2004 - the names of the tests say what is checked
"""What the verbs on a task's advance have to do: its claim, and every way it ends."""

from __future__ import annotations

from keptstep.models.errors import IllegalMove, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId
from keptstep.models.records import Task, TaskLease
from keptstep.models.states import TaskStatus
from keptstep.testing.builders import bell, failure, identity, new_step, new_task, payload
from keptstep.testing.conformance_base import ANN, BOB, LEASE, StoreSuite, read_out, refused


class AdvanceSuite(StoreSuite):
    """The coordinator's unit of work: claimed, fenced, counted and capped like a step."""

    def _claim(self, task: Task) -> TaskLease | None:
        return self.store.claim_task(task.id, ANN, LEASE)

    def test_a_claim_takes_the_advance_for_the_lease(self) -> None:
        lease = self.advance()
        task = self.store.task(lease.task.id)
        assert lease.task == task
        assert (task.status, task.owner, task.token) == (TaskStatus.RUNNING, ANN, 1)
        assert (task.attempts, task.lease_until) == (1, self.clock.now() + LEASE)
        assert (lease.token, lease.worker, lease.until) == (1, ANN, task.lease_until)
        event = self.last_event(task.id)
        assert (event.kind, event.token) == (EventKind.ADVANCE_STARTED, 1)

    def test_a_held_advance_is_not_given_to_another(self) -> None:
        lease = self.advance()
        with self.unchanged(lease.task.id):
            assert self.store.claim_task(lease.task.id, BOB, LEASE) is None

    def test_a_lease_that_ended_is_recovered_first_and_not_claimed_over(self) -> None:
        lease = self.advance()
        self.clock.advance(LEASE + 1)
        with self.unchanged(lease.task.id):
            assert self.store.claim_task(lease.task.id, BOB, LEASE) is None

    def test_a_worker_is_given_only_tasks_whose_workflow_it_knows(self) -> None:
        task = self.submit(new_task(workflow="research"))
        with self.unchanged(task.id):
            assert self.store.claim_task(task.id, ANN, LEASE, workflows=["council"]) is None
            assert self.store.claim_task(task.id, ANN, LEASE, workflows=[]) is None
        known = {"council", "research"}
        assert self.store.claim_task(task.id, ANN, LEASE, workflows=known) is not None

    def test_a_task_that_does_not_exist_cannot_be_claimed(self) -> None:
        assert self.store.claim_task(TaskId(identity("task")), ANN, LEASE) is None

    def test_a_waiting_function_leaves_its_task_waiting(self) -> None:
        lease = self.advance()
        self.store.plan(lease, [new_step()])
        task = self.leave(lease)
        assert task == self.store.task(task.id)
        assert (task.status, task.owner, task.lease_until) == (TaskStatus.WAITING, None, None)
        assert task.attempts == 0, "this advance ended well"
        assert self.last_event(task.id).kind is EventKind.ADVANCE_LEFT
        assert self._claim(task) is None

    def test_a_finish_that_the_function_did_not_see_makes_it_ready_as_it_leaves(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step()])
        held, kept = self.claim(step), payload()
        self.store.mark(held, kept)
        seen = self.store.task(lease.task.id).last_seq
        self.store.finish(held, kept)
        task = self.store.leave(lease, seen)
        assert (task.status, task.due_at) == (TaskStatus.READY, self.clock.now())
        assert self._claim(task) is not None

    def test_a_failure_that_the_function_did_not_see_makes_it_ready_as_it_leaves(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step()])
        seen = self.store.task(lease.task.id).last_seq
        self.store.fail(self.claim(step), failure())
        assert self.store.leave(lease, seen).status is TaskStatus.READY

    def test_what_does_not_finish_a_step_lets_the_function_wait(self) -> None:
        lease = self.advance()
        steps = self.store.plan(lease, [new_step("a"), new_step("b"), new_step("c")])
        seen = self.store.task(lease.task.id).last_seq
        self.store.retry(self.claim(steps[0]), failure(), 0.0)
        self.store.block(self.claim(steps[1]), failure())
        self.store.mark(self.claim(steps[2]), payload())
        assert self.store.leave(lease, seen).status is TaskStatus.WAITING

    def test_a_step_cancelled_as_it_was_planned_makes_it_ready_as_it_leaves(self) -> None:
        lease = self.advance()
        (failed,) = self.store.plan(lease, [new_step("a")])
        self.store.fail(self.claim(failed), failure())
        seen = self.store.task(lease.task.id).last_seq
        self.store.plan(lease, [new_step("b", needs=(failed.id,))])
        assert self.store.leave(lease, seen).status is TaskStatus.READY

    def test_a_finish_that_the_function_saw_lets_it_wait(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step()])
        self.store.finish(self.claim(step), payload())
        assert self.leave(lease).status is TaskStatus.WAITING

    def test_a_planned_shutdown_gives_the_advance_back_uncounted(self) -> None:
        lease = self.advance()
        task = self.store.release_task(lease)
        assert (task.status, task.attempts, task.owner) == (TaskStatus.READY, 0, None)
        event = self.last_event(task.id)
        assert (event.kind, event.data["released"]) == (EventKind.ADVANCE_LEFT, True)
        again = self.advance(task, BOB)
        assert (again.token, again.task.attempts) == (2, 1)

    def test_a_released_advance_is_due_even_if_the_clock_was_set_back(self) -> None:
        lease = self.advance()
        self.clock.set_back(7200)
        assert self._claim(self.store.release_task(lease)) is not None

    def test_a_result_makes_the_task_done(self) -> None:
        lease, result = self.advance(), payload("the report")
        self.clock.advance(2)
        task = self.store.finish_task(lease, result)
        assert task == self.store.task(task.id)
        assert (task.status, task.artifact_id) == (TaskStatus.DONE, result.ref.id)
        assert (task.owner, task.lease_until) == (None, None)
        assert task.ended_at == self.clock.now()
        assert self.store.artifact(result.ref.id) == result.ref
        event = self.last_event(task.id)
        assert (event.kind, event.data["sha"]) == (EventKind.TASK_DONE, result.ref.sha)

    def test_an_advance_that_ended_badly_is_due_again_after_the_delay(self) -> None:
        lease, failed = self.advance(), failure("the function raised")
        task = self.store.fail_task(lease, failed, 30.0)
        assert (task.status, task.due_at) == (TaskStatus.READY, self.clock.now() + 30)
        assert (task.attempts, task.reason, task.error) == (1, failed.reason, failed.error)
        assert self.last_event(task.id).kind is EventKind.ADVANCE_FAILED
        self.clock.advance(29)
        assert self._claim(task) is None
        self.clock.advance(1)
        assert self.advance(task).task.attempts == 2

    def test_the_text_of_the_failure_is_kept(self) -> None:
        failed = failure()
        task = self.store.fail_task(self.advance(), failed, 1.0)
        assert task.error is not None
        assert task.error.artifact_id is not None
        assert failed.text is not None
        assert self.store.artifact(task.error.artifact_id) == failed.text.ref

    def test_an_advance_without_a_delay_fails_for_good(self) -> None:
        task = self.store.fail_task(self.advance(), failure("no way"), None)
        assert (task.status, task.reason) == (TaskStatus.FAILED, "no way")
        assert task.ended_at == self.clock.now()
        assert self.last_event(task.id).kind is EventKind.TASK_FAILED
        assert self._claim(task) is None

    def test_the_last_attempt_of_an_advance_fails_for_good_whatever_the_delay(self) -> None:
        task = self.submit(new_task(max_attempts=2))
        assert self.store.fail_task(self.advance(task), failure(), 0.0).status is TaskStatus.READY
        assert self.store.fail_task(self.advance(task), failure(), 0.0).status is TaskStatus.FAILED

    def test_an_advance_that_ends_well_resets_the_count(self) -> None:
        task = self.submit(new_task(max_attempts=2))
        self.store.fail_task(self.advance(task), failure(), 0.0)
        lease = self.advance(task)
        (step,) = self.store.plan(lease, [new_step()])
        self.leave(lease)
        self.store.finish(self.claim(step), payload())
        assert self.advance(task).task.attempts == 1

    def test_an_advance_that_plans_did_well_so_far(self) -> None:
        for planned in ([new_step()], []):
            task = self.submit(new_task(max_attempts=2))
            self.store.fail_task(self.advance(task), failure(), 0.0)
            lease = self.advance(task)
            assert lease.task.attempts == 2
            self.store.plan(lease, planned)
            assert self.store.task(task.id).attempts == 1
            again = self.store.fail_task(lease, failure(), 0.0)
            assert again.status is TaskStatus.READY, "the row's count decides, not the lease's"

    def test_a_step_that_gets_done_is_progress_and_forgets_crashes_before_it(self) -> None:
        task = self.submit(new_task(max_attempts=3))
        (step,) = self.store.plan(self.advance(task), [new_step()])
        for _ in range(2):
            self.store.recover_tasks([ANN])
            self.advance(task)
        assert self.store.task(task.id).attempts == 3
        self.store.finish(self.claim(step), payload())
        assert self.store.task(task.id).attempts == 1
        (recovered,) = self.store.recover_tasks([ANN])
        assert recovered.status is TaskStatus.READY

    def test_a_result_forgets_why_an_earlier_advance_failed(self) -> None:
        task = self.submit()
        self.store.fail_task(self.advance(task), failure(), 0.0)
        done = self.store.finish_task(self.advance(task), payload())
        assert (done.reason, done.error) == (None, None)

    def test_a_blocked_task_waits_for_an_operator(self) -> None:
        task = self.store.block_task(self.advance(), failure("the plan differs"))
        assert (task.status, task.reason) == (TaskStatus.BLOCKED, "the plan differs")
        assert (task.owner, task.ended_at) == (None, None)
        assert self.last_event(task.id).kind is EventKind.TASK_BLOCKED
        assert self._claim(task) is None

    def test_an_operator_sets_a_blocked_task_going_again(self) -> None:
        blocked = self.store.block_task(self.advance(), failure())
        task = self.store.reopen_task(blocked.id, "kim", "the code is back")
        assert (task.status, task.attempts) == (TaskStatus.READY, 0)
        assert (task.due_at, task.reason, task.error) == (self.clock.now(), None, None)
        event = self.last_event(task.id)
        assert event.kind is EventKind.TASK_REOPENED
        assert (event.data["by"], event.data["why"]) == ("kim", "the code is back")
        assert self._claim(task) is not None

    def test_an_operator_sets_a_failed_task_going_again(self) -> None:
        failed = self.store.fail_task(self.advance(), failure(), None)
        task = self.store.reopen_task(failed.id, "kim", "try again")
        assert (task.status, task.ended_at) == (TaskStatus.READY, None)

    def test_only_a_blocked_or_failed_task_is_reopened(self) -> None:
        ready = self.submit()
        running = self.advance()
        waiting = self.planned()[0].task_id
        done = self.store.finish_task(self.advance(), payload())
        for task_id in (ready.id, running.task.id, waiting, done.id):
            with self.unchanged(task_id), refused(IllegalMove):
                self.store.reopen_task(task_id, "kim", "no reason")
        with refused(NotFound):
            self.store.reopen_task(TaskId(identity("task")), "kim", "no reason")

    def test_the_end_of_a_task_leaves_its_steps_as_they_are(self) -> None:
        lease = self.advance()
        running, _ = self.store.plan(lease, [new_step("a"), new_step("b")])
        held = self.claim(running)
        before = self.store.steps(lease.task.id)
        self.store.finish_task(lease, payload())
        assert self.store.steps(lease.task.id) == before
        settled = self.store.finish(held, payload())
        assert not settled.task_due, "nobody waits for it"
        assert self.store.task(lease.task.id).status is TaskStatus.DONE

    def test_the_ready_steps_of_a_finished_task_are_not_run_until_it_is_reopened(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step()])
        self.store.fail_task(lease, failure(), None)
        assert self.store.due().steps == ()
        assert self.store.claim_step(step.id, BOB, LEASE) is None
        self.store.reopen_task(lease.task.id, "kim", "again")
        assert self.store.due().steps == (bell(step),)
        assert self.claim(step).token == 1

    def test_the_ready_steps_of_a_blocked_task_go_on(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step()])
        self.store.block_task(lease, failure())
        assert self.store.due().steps == (bell(step),)
        assert self.claim(step).token == 1

    def test_a_blocked_task_hears_of_its_steps_without_going_on(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step()])
        self.store.block_task(lease, failure())
        assert not self.store.finish(self.claim(step), payload()).task_due
        assert read_out(self.store, lease.task.id).task.status is TaskStatus.BLOCKED
