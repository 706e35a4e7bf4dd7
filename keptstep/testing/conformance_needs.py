# ruff: noqa: D102, S101 - the names of the tests say what is checked
"""Steps that need others: readied by the last need, cancelled with one that failed."""

from __future__ import annotations

from keptstep.models.events import EventKind
from keptstep.models.records import Step
from keptstep.models.states import STEP_FINAL, StepStatus
from keptstep.testing.builders import bell, failure, new_step, payload
from keptstep.testing.conformance_base import StoreSuite, at_once


class NeedsSuite(StoreSuite):
    """What a finish or a failure does to the steps that wait for it."""

    def _diamond(self) -> list[Step]:
        """Plan a, then b and c that need it, then d that needs both."""
        a, b = new_step("a"), new_step("b")
        c = new_step("c", needs=(a.id,))
        b = new_step("b", needs=(a.id,))
        d = new_step("d", needs=(b.id, c.id))
        return self.planned(a, b, c, d)

    def test_the_last_need_readies_the_step_in_its_own_transaction(self) -> None:
        a, b, c, d = self._diamond()
        settled = self.store.finish(self.claim(a), payload())
        assert settled.readied == (bell(b), bell(c))
        assert self.store.finish(self.claim(b), payload()).readied == ()
        assert self.store.step(d.id).status is StepStatus.PENDING
        self.clock.advance(7)
        assert self.store.finish(self.claim(c), payload()).readied == (bell(d),)
        ready = self.store.step(d.id)
        assert (ready.status, ready.due_at) == (StepStatus.READY, self.clock.now())
        assert self.kinds(d.task_id, d.id) == [EventKind.STEP_PLANNED, EventKind.STEP_READIED]

    def test_the_result_is_told_before_what_it_readies(self) -> None:
        a, *_ = self._diamond()
        self.store.finish(self.claim(a), payload())
        assert self.kinds(a.task_id)[-3:] == [
            EventKind.TOOL_RESULT_PERSISTED,
            EventKind.STEP_READIED,
            EventKind.STEP_READIED,
        ]

    def test_a_failed_need_cancels_what_needs_it_through_all_generations(self) -> None:
        a, b, c, d = self._diamond()
        settled = self.store.fail(self.claim(a), failure())
        assert settled.readied == ()
        for step in (b, c, d):
            cancelled = self.store.step(step.id)
            assert cancelled.status is StepStatus.CANCELLED
            assert cancelled.reason, "it says why"
            assert self.kinds(step.task_id, step.id) == [
                EventKind.STEP_PLANNED,
                EventKind.STEP_CANCELLED,
            ]
        assert settled.task_due

    def test_a_failed_need_cancels_a_step_whose_other_need_is_done(self) -> None:
        a, b, c, d = self._diamond()
        self.store.finish(self.claim(a), payload())
        self.store.finish(self.claim(b), payload())
        self.store.fail(self.claim(c), failure())
        assert self.store.step(d.id).status is StepStatus.CANCELLED
        assert self.store.step(b.id).status is StepStatus.DONE

    def test_a_failed_need_leaves_independent_steps_alone(self) -> None:
        a, alone = self.planned(new_step("a"), new_step("alone"))
        self.store.fail(self.claim(a), failure())
        assert self.store.step(alone.id) == alone

    def test_what_was_cancelled_stays_so_when_its_need_is_requeued(self) -> None:
        a, b, *_ = self._diamond()
        self.store.fail(self.claim(a), failure())
        self.store.requeue(a.id, "kim", "again")
        self.store.finish(self.claim(a), payload())
        assert self.store.step(b.id).status is StepStatus.CANCELLED
        assert StepStatus.CANCELLED in STEP_FINAL

    def test_an_uncertain_need_lets_its_dependants_wait(self) -> None:
        a, b, *_ = self._diamond()
        self.store.block(self.claim(a), failure())
        assert self.store.step(b.id).status is StepStatus.PENDING

    def test_a_retried_need_lets_its_dependants_wait(self) -> None:
        a, b, *_ = self._diamond()
        self.store.retry(self.claim(a), failure(), 0.0)
        assert self.store.step(b.id).status is StepStatus.PENDING

    def test_needs_that_finish_at_the_same_time_ready_a_step_once(self) -> None:
        needs = [new_step(f"n{number}") for number in range(8)]
        joined = new_step("join", needs=tuple(step.id for step in needs))
        *steps, join = self.planned(*needs, joined)
        leases, store = [self.claim(step) for step in steps], self.store

        def finish(number: int) -> bool:
            return store.finish(leases[number], payload(f"{number}")).readied == (bell(join),)

        assert sum(at_once(finish, 8)) == 1
        assert self.store.step(join.id).status is StepStatus.READY
        assert self.kinds(join.task_id, join.id).count(EventKind.STEP_READIED) == 1
