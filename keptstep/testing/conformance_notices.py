# ruff: noqa: D102, S101 - suites are made of assertions
"""Notices: one for each thing a person is to be told, claimed by one teller at a time."""

from __future__ import annotations

from dataclasses import replace

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Fail
from keptstep.models.records import Failure, Kept, Notice
from keptstep.testing.builders import failure, payload
from keptstep.testing.conformance_base import ANN, LEASE, StoreSuite, at_once


class NoticeSuite(StoreSuite):
    """The outbox is written with the event, and emptied by who told a person of it."""

    def told(self, limit: int = 10) -> list[Notice]:
        """Return what is claimed now."""
        return self.store.claim_notices(limit, 30.0)

    def test_an_uncertain_step_is_told_of_with_names_and_our_reason(self) -> None:
        lease = self.running(effect=Effect.SIDE_EFFECT)
        self.clock.advance(3)
        failed = failure("the call raised")
        self.store.block(lease, failed)
        (notice,) = self.told()
        step = lease.step
        assert (notice.kind, notice.reason) == ("step_uncertain", "the call raised")
        assert (notice.task_id, notice.step_id, notice.step) == (step.task_id, step.id, step.name)
        assert notice.workflow == self.store.task(step.task_id).workflow
        assert (notice.at, notice.claimed_at, notice.attempts) == (
            self.clock.now(),
            self.clock.now(),
            1,
        )

    def test_every_kind_that_waits_for_a_person_is_told_of_once(self) -> None:
        self.store.fail(self.running(), failure("used up"))
        orphan = self.running()
        self.clock.advance(LEASE)
        self.store.recover(self.store.step(orphan.step.id), Fail("died"), {ANN})
        self.store.block_task(self.advance(), failure("another plan"))
        self.store.fail_task(self.advance(), failure("raised"), None)
        kinds = [notice.kind for notice in self.told()]
        assert sorted(kinds) == ["step_failed", "step_failed", "task_blocked", "task_failed"]
        assert self.told() == []

    def test_what_goes_on_by_itself_is_not_told_of(self) -> None:
        self.store.retry(self.running(), failure(), 5.0)
        self.store.finish(self.running(), payload())
        self.store.release(self.running())
        self.store.fail_task(self.advance(), failure(), 1.0)
        self.store.finish_task(self.advance(), payload())
        assert self.told() == []

    def test_a_task_that_failed_with_its_step_is_not_told_of_a_second_time(self) -> None:
        self.store.fail_task(self.advance(), Failure("step find failed", Kept("StepFailed")), None)
        assert self.told() == []

    def test_a_claimed_notice_is_nobody_else_s_until_the_claim_ends(self) -> None:
        self.store.fail(self.running(), failure())
        (first,) = self.told()
        self.clock.advance(29)
        assert self.told() == []
        self.clock.advance(1)
        (again,) = self.told()
        assert (again.id, again.at, again.attempts) == (first.id, first.at, 2)

    def test_what_was_told_is_gone(self) -> None:
        self.store.fail(self.running(), failure())
        (notice,) = self.told()
        self.store.notice_sent(notice)
        self.clock.advance(1e6)
        assert self.told() == []

    def test_what_could_not_be_told_is_due_again_later_or_given_up(self) -> None:
        self.store.fail(self.running(), failure())
        (notice,) = self.told()
        self.store.notice_failed(notice, 100.0)
        self.clock.advance(99)
        assert self.told() == []
        self.clock.advance(1)
        (again,) = self.told()
        self.store.notice_failed(again, None)
        self.clock.advance(1e6)
        assert self.told() == []

    def test_a_teller_whose_claim_ended_changes_nothing(self) -> None:
        self.store.fail(self.running(), failure())
        (late,) = self.told()
        self.clock.advance(30)
        (current,) = self.told()
        self.store.notice_sent(late)
        self.store.notice_failed(late, 1e6)
        self.clock.advance(30)
        assert self.told() == [
            replace(current, attempts=3, claimed_at=self.clock.now()),
        ]

    def test_the_oldest_comes_first_up_to_the_limit(self) -> None:
        for _ in range(3):
            self.store.fail(self.running(), failure())
            self.clock.advance(1)
        first, second = self.told(2)
        (third,) = self.told()
        assert first.at < second.at < third.at

    def test_of_many_tellers_at_once_one_gets_a_notice(self) -> None:
        self.store.fail(self.running(), failure())
        store = self.store
        assert sum(at_once(lambda _: len(store.claim_notices(5, 30.0)), 8)) == 1
