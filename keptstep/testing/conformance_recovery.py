# ruff: noqa: D102, S101, PLR2004 - the names of the tests say what is checked
"""What is left by a worker that died or went silent, and what recovery makes of it."""

from __future__ import annotations

from typing import Any

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Block, Decision, Fail, LeaveAlone, Run
from keptstep.models.errors import IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.records import Settled, Step, StepLease
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.builders import bell, failure, new_step, new_task, payload
from keptstep.testing.conformance_base import ANN, BOB, LEASE, StoreSuite, at_once, refused

_AGAIN = Run("the lease ended")
_FORWARD = Run("its result was kept", roll_forward=True)
_EVERY: tuple[Decision, ...] = (_AGAIN, _FORWARD, Block("unknown"), Fail("used up"))


class OrphanSuite(StoreSuite):
    """Running steps whose lease ended or whose owner is dead are found."""

    def test_a_live_lease_is_no_orphan(self) -> None:
        self.running()
        self.clock.advance(LEASE - 1)
        assert self.store.orphans([]) == []
        assert self.store.orphans([BOB]) == []

    def test_a_lease_that_ended_is_an_orphan(self) -> None:
        first = new_step("a")
        a, b = self.planned(first, new_step("b", needs=(first.id,)))
        self.store.finish(self.claim(a), payload())
        lease = self.claim(b)
        self.clock.advance(LEASE)
        assert self.store.orphans([]) == [self.store.step(lease.step.id)]

    def test_a_dead_owners_steps_are_orphans_at_once(self) -> None:
        lease = self.running(ANN)
        self.running(BOB)
        assert [step.id for step in self.store.orphans([ANN])] == [lease.step.id]

    def test_the_longest_gone_come_first_and_no_more_than_asked_for(self) -> None:
        leases = []
        for _ in range(3):
            leases.append(self.running())
            self.clock.advance(1)
        self.clock.advance(LEASE)
        found = self.store.orphans([], limit=2)
        assert [step.id for step in found] == [lease.step.id for lease in leases[:2]]

    def test_settled_steps_are_no_orphans(self) -> None:
        done, failed, uncertain, given = (self.running() for _ in range(4))
        self.store.finish(done, payload())
        self.store.fail(failed, failure())
        self.store.block(uncertain, failure())
        self.store.release(given)
        self.clock.advance(LEASE * 100)
        assert self.store.orphans([ANN]) == []


class RecoverSuite(StoreSuite):
    """The kernel's decision is carried out, unless the step moved since it was read."""

    def _expired(self, *, marked: bool = False, **values: Any) -> StepLease:
        lease = self.running(**values)
        if marked:
            self.store.mark(lease, payload())
        self.clock.advance(LEASE + 1)
        return lease

    def _recover(self, lease: StepLease, decision: Decision) -> Settled:
        settled = self.store.recover(self.store.step(lease.step.id), decision)
        assert settled is not None
        assert settled.step == self.store.step(lease.step.id)
        return settled

    def test_a_step_that_may_run_again_is_ready_now(self) -> None:
        lease = self._expired()
        step = self._recover(lease, _AGAIN).step
        assert (step.status, step.due_at) == (StepStatus.READY, self.clock.now())
        assert (step.owner, step.lease_until, step.attempts) == (None, None, 1)
        event = self.last_event(step.task_id)
        assert (event.kind, event.token) == (EventKind.STEP_RECLAIMED, lease.token)
        assert event.data["reason"] == _AGAIN.reason
        assert self.claim(step, BOB).token == 2

    def test_a_crash_is_an_attempt(self) -> None:
        lease = self._expired(max_attempts=2)
        self._recover(lease, _AGAIN)
        assert self.claim(lease.step).step.attempts == 2

    def test_the_attempt_says_whether_its_lease_ended_or_its_worker_died(self) -> None:
        expired = self._expired()
        self._recover(expired, _AGAIN)
        died = self.running(BOB)
        assert self.store.recover(died.step, _AGAIN, [BOB]) is not None
        outcomes = [self.store.attempts(lease.step.id)[0].outcome for lease in (expired, died)]
        assert outcomes == ["expired", "died"]

    def test_a_dead_owners_step_is_taken_before_its_lease_ends(self) -> None:
        lease = self.running()
        assert self.store.recover(lease.step, _AGAIN, [BOB]) is None
        assert self.store.recover(lease.step, _AGAIN, [ANN]) is not None

    def test_a_kept_payload_is_rolled_forward_without_a_call(self) -> None:
        first = new_step("a")
        a, b = self.planned(first, new_step("b", needs=(first.id,)))
        lease, kept = self.claim(a), payload()
        self.store.mark(lease, kept)
        self.clock.advance(LEASE + 1)
        settled = self._recover(lease, _FORWARD)
        assert (settled.step.status, settled.step.artifact_id) == (StepStatus.DONE, kept.ref.id)
        assert settled.step.token == lease.token + 1, "the late worker is fenced"
        assert (settled.readied, settled.task_due) == ((bell(b),), True)
        task = self.store.task(a.task_id)
        assert (task.status, task.due_at) == (TaskStatus.READY, self.clock.now())

    def test_a_rolled_forward_result_completes_the_envelope_of_its_call(self) -> None:
        lease = self._expired(marked=True)
        self._recover(lease, _FORWARD)
        events = [e for e in self.store.events(lease.step.task_id) if e.token == lease.token]
        assert [event.kind for event in events if event.step_id == lease.step.id] == [
            EventKind.TOOL_CALL_STARTED,
            EventKind.PAYLOAD_PERSISTED,
            EventKind.TOOL_RESULT_PERSISTED,
        ]
        assert events[-1].data["rolled_forward"] is True

    def test_a_rolled_forward_step_counts_no_further_attempt(self) -> None:
        lease = self._expired(marked=True)
        step = self._recover(lease, _FORWARD).step
        assert step.attempts == 1
        (attempt,) = self.store.attempts(step.id)
        assert attempt.ended_at == self.clock.now()

    def test_a_step_that_may_have_acted_becomes_uncertain(self) -> None:
        lease = self._expired(effect=Effect.SIDE_EFFECT)
        settled = self._recover(lease, Block("nobody knows"))
        assert (settled.step.status, settled.step.reason) == (StepStatus.UNCERTAIN, "nobody knows")
        assert not settled.task_due
        event = self.last_event(lease.step.task_id)
        assert (event.kind, event.data["reason"]) == (EventKind.STEP_UNCERTAIN, "nobody knows")

    def test_a_step_without_attempts_left_becomes_a_dead_letter(self) -> None:
        first = new_step("a", max_attempts=1)
        a, b = self.planned(first, new_step("b", needs=(first.id,)))
        lease = self.claim(a)
        self.clock.advance(LEASE + 1)
        settled = self._recover(lease, Fail("used up"))
        assert (settled.step.status, settled.step.reason) == (StepStatus.FAILED, "used up")
        assert settled.task_due
        assert self.store.step(b.id).status is StepStatus.CANCELLED
        assert EventKind.STEP_FAILED in self.kinds(a.task_id, a.id)

    def test_recovery_never_gives_an_attempt_above_the_cap(self) -> None:
        lease = self._expired(max_attempts=1)
        with self.unchanged(lease.step.task_id), refused(IllegalMove):
            self.store.recover(self.store.step(lease.step.id), _AGAIN)

    def test_nothing_is_rolled_forward_without_a_payload(self) -> None:
        lease = self._expired()
        with self.unchanged(lease.step.task_id), refused(IllegalMove):
            self.store.recover(self.store.step(lease.step.id), _FORWARD)

    def test_leaving_alone_changes_nothing(self) -> None:
        lease = self._expired()
        with self.unchanged(lease.step.task_id):
            assert self.store.recover(lease.step, LeaveAlone("held")) is None

    def test_a_step_that_was_renewed_since_is_not_touched(self) -> None:
        lease = self._expired(marked=True)
        found = self.store.step(lease.step.id)
        self.store.renew(ANN, LEASE, [found.id], [])
        self._moved(lease, *[(found, decision) for decision in _EVERY])

    def test_a_step_that_was_settled_since_is_not_touched(self) -> None:
        lease = self._expired(marked=True)
        found = self.store.step(lease.step.id)
        self.store.finish(lease, payload())
        self._moved(lease, *[(found, decision) for decision in _EVERY])

    def test_a_step_that_another_took_since_is_not_touched(self) -> None:
        for marked in (True, False):
            lease = self._expired(marked=marked)
            found = self.store.step(lease.step.id)
            self._recover(lease, _AGAIN)
            self.claim(lease.step, BOB)
            self.clock.advance(LEASE + 1)
            decisions = _EVERY if marked else (_AGAIN, Block("unknown"), Fail("used up"))
            self._moved(lease, *[(found, decision) for decision in decisions])

    def test_a_step_whose_payload_was_kept_since_is_looked_at_again(self) -> None:
        lease = self._expired(effect=Effect.SIDE_EFFECT)
        found = self.store.step(lease.step.id)
        self.store.mark(lease, payload())
        self._moved(lease, (found, Block("no result was kept when this was read")))

    def test_of_eight_recoveries_at_once_one_acts(self) -> None:
        lease = self._expired(marked=True)
        found, store = self.store.step(lease.step.id), self.store
        answers = at_once(lambda _: store.recover(found, _FORWARD), 8)
        assert sum(answer is not None for answer in answers) == 1
        kinds = self.kinds(lease.step.task_id, lease.step.id)
        assert kinds.count(EventKind.TOOL_RESULT_PERSISTED) == 1

    def _moved(self, lease: StepLease, *tries: tuple[Step, Decision]) -> None:
        for found, decision in tries:
            with self.unchanged(lease.step.task_id):
                assert self.store.recover(found, decision) is None


class RecoverTasksSuite(StoreSuite):
    """An advance whose holder is gone is due again, until its attempts are used up."""

    def test_a_live_advance_is_left_alone(self) -> None:
        lease = self.advance()
        with self.unchanged(lease.task.id):
            assert self.store.recover_tasks([BOB]) == []

    def test_an_advance_whose_lease_ended_is_ready_now(self) -> None:
        lease = self.advance()
        self.clock.advance(LEASE + 1)
        (task,) = self.store.recover_tasks([])
        assert task == self.store.task(lease.task.id)
        assert (task.status, task.due_at) == (TaskStatus.READY, self.clock.now())
        assert (task.owner, task.lease_until, task.attempts) == (None, None, 1)
        event = self.last_event(task.id)
        assert (event.kind, event.token) == (EventKind.ADVANCE_RECLAIMED, lease.token)

    def test_a_dead_holders_advance_is_taken_before_its_lease_ends(self) -> None:
        lease = self.advance()
        assert [task.id for task in self.store.recover_tasks([ANN])] == [lease.task.id]

    def test_an_advance_that_keeps_killing_its_holder_fails_for_good(self) -> None:
        task = self.submit(new_task(max_attempts=2))
        for status in (TaskStatus.READY, TaskStatus.FAILED):
            self.advance(task)
            self.clock.advance(LEASE + 1)
            (task,) = self.store.recover_tasks([])
            assert task.status is status
        assert task.reason, "it says why"
        assert task.ended_at == self.clock.now()
        assert self.last_event(task.id).kind is EventKind.TASK_FAILED

    def test_an_advance_that_killed_its_holder_forgets_how_an_earlier_one_failed(self) -> None:
        task = self.submit(new_task(max_attempts=2))
        self.store.fail_task(self.advance(task), failure("the function raised"), 0.0)
        self.advance(task)
        (failed,) = self.store.recover_tasks([ANN])
        assert failed.status is TaskStatus.FAILED
        assert failed.reason != "the function raised"
        assert failed.error is None, "the error was another advance's"

    def test_no_more_are_taken_than_asked_for_the_longest_gone_first(self) -> None:
        leases = []
        for _ in range(3):
            leases.append(self.advance())
            self.clock.advance(1)
        self.clock.advance(LEASE)
        found = self.store.recover_tasks([], limit=2)
        assert [task.id for task in found] == [lease.task.id for lease in leases[:2]]
        assert self.store.task(leases[2].task.id).status is TaskStatus.RUNNING

    def test_waiting_and_finished_tasks_are_left_alone(self) -> None:
        waiting, done = self.advance(), self.advance()
        self.store.leave(waiting, 0)
        self.store.finish_task(done, payload())
        self.clock.advance(LEASE * 100)
        assert self.store.recover_tasks([ANN]) == []
