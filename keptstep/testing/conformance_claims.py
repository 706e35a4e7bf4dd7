# ruff: noqa: D102, S101, PLR2004 - the names of the tests say what is checked
"""What a claim, a lease and its renewal have to do."""

from __future__ import annotations

from keptstep.models.events import EventKind
from keptstep.models.ids import StepId, WorkerId
from keptstep.models.records import StepLease
from keptstep.models.states import StepStatus
from keptstep.testing.builders import failure, identity, new_step, payload
from keptstep.testing.conformance_base import ANN, BOB, LEASE, StoreSuite, at_once


class ClaimSuite(StoreSuite):
    """A step goes to one worker, and its start is written before it starts."""

    def test_a_claim_takes_the_step_for_the_lease(self) -> None:
        (step,) = self.planned()
        self.clock.advance(3)
        lease = self.claim(step)
        held = self.store.step(step.id)
        assert lease.step == held
        assert (held.status, held.owner, held.token) == (StepStatus.RUNNING, ANN, 1)
        assert (held.attempts, held.started_at) == (1, self.clock.now())
        assert held.lease_until == self.clock.now() + LEASE
        assert (lease.token, lease.worker, lease.until) == (1, ANN, held.lease_until)

    def test_a_claim_keeps_the_needs_of_the_step(self) -> None:
        first = new_step("a")
        steps = self.planned(first, new_step("b", needs=(first.id,)))
        self.store.finish(self.claim(steps[0]), payload())
        assert self.claim(steps[1]).step.needs == (first.id,)

    def test_the_start_of_the_call_is_written_with_the_claim(self) -> None:
        lease = self.running()
        event = self.last_event(lease.step.task_id)
        assert (event.kind, event.token) == (EventKind.TOOL_CALL_STARTED, lease.token)
        assert event.step_id == lease.step.id
        assert event.data["attempt"] == 1
        assert event.data["worker"] == ANN
        assert event.data["input_sha"] == lease.step.input_sha
        assert event.data["deadline"] == lease.step.deadline

    def test_each_claim_is_an_attempt_on_record(self) -> None:
        lease = self.running()
        (attempt,) = self.store.attempts(lease.step.id)
        assert (attempt.n, attempt.worker, attempt.token) == (1, ANN, lease.token)
        assert attempt.started_at == self.clock.now()
        assert (attempt.ended_at, attempt.outcome, attempt.error) == (None, None, None)

    def test_a_lease_does_not_reach_beyond_the_deadline(self) -> None:
        lease = self.running(deadline=4.0)
        assert lease.until == self.clock.now() + 4
        assert self.store.step(lease.step.id).lease_until == lease.until

    def test_a_held_step_is_not_given_to_another(self) -> None:
        lease = self.running()
        with self.unchanged(lease.step.task_id):
            assert self.store.claim_step(lease.step.id, BOB, LEASE) is None

    def test_a_lease_that_ended_is_recovered_first_and_not_claimed_over(self) -> None:
        lease = self.running()
        self.clock.advance(LEASE + 1)
        with self.unchanged(lease.step.task_id):
            assert self.store.claim_step(lease.step.id, BOB, LEASE) is None

    def test_a_step_that_is_not_due_is_not_claimed(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 10.0)
        with self.unchanged(lease.step.task_id):
            assert self.store.claim_step(lease.step.id, ANN, LEASE) is None
        self.clock.advance(10)
        assert self.claim(lease.step).token == 2

    def test_a_settled_step_is_not_claimed(self) -> None:
        done, failed, uncertain = self.running(), self.running(), self.running()
        self.store.finish(done, payload())
        self.store.fail(failed, failure())
        self.store.block(uncertain, failure())
        for lease in (done, failed, uncertain):
            assert self.store.claim_step(lease.step.id, BOB, LEASE) is None

    def test_a_step_that_does_not_exist_cannot_be_claimed(self) -> None:
        assert self.store.claim_step(StepId(identity("step")), ANN, LEASE) is None

    def test_a_worker_is_given_only_steps_whose_tool_it_knows(self) -> None:
        (step,) = self.planned(new_step(tool="search"))
        with self.unchanged(step.task_id):
            assert self.store.claim_step(step.id, ANN, LEASE, tools=["render"]) is None
            assert self.store.claim_step(step.id, ANN, LEASE, tools=[]) is None
        assert self.store.claim_step(step.id, ANN, LEASE, tools={"render", "search"}) is not None

    def test_a_new_attempt_begins_without_the_old_ones_payload(self) -> None:
        lease = self.running()
        self.store.mark(lease, payload())
        self.store.retry(lease, failure(), 0.0)
        assert self.claim(lease.step).step.artifact_id is None

    def test_of_sixteen_claims_at_once_one_wins(self) -> None:
        (step,) = self.planned()
        store = self.store

        def claim(number: int) -> StepLease | None:
            return store.claim_step(step.id, WorkerId(f"worker-{number}"), LEASE)

        (winner,) = [answer for answer in at_once(claim, 16) if answer is not None]
        assert winner.step == self.store.step(step.id)
        assert (winner.step.owner, winner.step.attempts) == (winner.worker, 1)
        assert len(self.store.attempts(step.id)) == 1
        assert self.kinds(step.task_id, step.id).count(EventKind.TOOL_CALL_STARTED) == 1

    def test_of_sixteen_claims_of_an_advance_at_once_one_wins(self) -> None:
        task, store = self.submit(), self.store

        def claim(number: int) -> bool:
            return store.claim_task(task.id, WorkerId(f"worker-{number}"), LEASE) is not None

        assert sum(at_once(claim, 16)) == 1
        assert self.kinds(task.id).count(EventKind.ADVANCE_STARTED) == 1

    def test_many_workers_at_once_leave_a_log_without_a_gap(self) -> None:
        steps = self.planned(*(new_step(f"s{number}") for number in range(16)))
        store = self.store

        def work(number: int) -> None:
            lease = store.claim_step(steps[number].id, WorkerId(f"worker-{number}"), LEASE)
            assert lease is not None
            store.mark(lease, kept := payload(f"result {number}"))
            store.finish(lease, kept)

        at_once(work, 16)
        assert {step.status for step in self.store.steps(steps[0].task_id)} == {StepStatus.DONE}


class LeaseSuite(StoreSuite):
    """A lease is renewed by its holder, never beyond the deadline and never backwards."""

    def test_a_renewal_moves_the_end(self) -> None:
        lease = self.running()
        self.clock.advance(5)
        lost = self.store.renew(ANN, LEASE, [lease.step.id], [])
        assert (lost.steps, lost.tasks) == (frozenset(), frozenset())
        assert self.store.step(lease.step.id).lease_until == self.clock.now() + LEASE

    def test_a_renewal_moves_the_end_of_an_advance(self) -> None:
        lease = self.advance()
        self.clock.advance(5)
        assert not self.store.renew(ANN, LEASE, [], [lease.task.id]).tasks
        assert self.store.task(lease.task.id).lease_until == self.clock.now() + LEASE

    def test_a_step_is_renewed_at_most_to_its_deadline(self) -> None:
        lease = self.running(deadline=20.0)
        started = self.clock.now()
        self.clock.advance(10)
        assert not self.store.renew(ANN, LEASE, [lease.step.id], []).steps
        assert self.store.step(lease.step.id).lease_until == started + 20
        self.clock.advance(15)
        assert not self.store.renew(ANN, LEASE, [lease.step.id], []).steps, "it is still held"
        assert self.store.step(lease.step.id).lease_until == started + 20

    def test_a_renewal_never_moves_an_end_backwards(self) -> None:
        step, task = self.running(), self.advance()
        self.clock.set_back(7200)
        self.store.renew(ANN, LEASE, [step.step.id], [task.task.id])
        assert self.store.step(step.step.id).lease_until == step.until
        assert self.store.task(task.task.id).lease_until == task.until

    def test_a_lease_that_ended_but_was_not_taken_is_renewed(self) -> None:
        lease = self.running()
        self.clock.advance(LEASE + 5)
        assert not self.store.renew(ANN, LEASE, [lease.step.id], []).steps
        assert self.store.orphans([]) == []

    def test_a_renewal_tells_what_is_no_longer_held(self) -> None:
        mine, done, other = self.running(), self.running(), self.running(BOB)
        self.store.finish(done, payload())
        unknown = StepId(identity("step"))
        ids = [lease.step.id for lease in (mine, done, other)]
        lost = self.store.renew(ANN, LEASE, [*ids, unknown], [])
        assert lost.steps == {done.step.id, other.step.id, unknown}
        assert self.store.step(other.step.id).lease_until == other.until

    def test_a_renewal_tells_which_advances_are_no_longer_held(self) -> None:
        mine, left, other = self.advance(), self.advance(), self.advance(worker=BOB)
        self.leave(left)
        lost = self.store.renew(ANN, LEASE, [], [lease.task.id for lease in (mine, left, other)])
        assert lost.tasks == {left.task.id, other.task.id}

    def test_a_renewal_is_not_an_event(self) -> None:
        lease = self.running()
        before = self.store.events(lease.step.task_id)
        self.clock.advance(5)
        self.store.renew(ANN, LEASE, [lease.step.id], [])
        assert self.store.events(lease.step.task_id) == before

    def test_the_owners_are_those_who_hold_something(self) -> None:
        assert self.store.owners() == set()
        step, task = self.running(ANN), self.advance(worker=BOB)
        self.clock.advance(LEASE + 1)
        assert self.store.owners() == {ANN, BOB}, "an ended lease is still held"
        self.store.finish(step, payload())
        self.store.leave(task, 0)
        assert self.store.owners() == set()
