# ruff: noqa: D102, S101 - suites are made of assertions
"""A paused task: what runs may end, nothing begins, and nothing is lost."""

from __future__ import annotations

from keptstep.models.errors import IllegalMove, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import TaskId
from keptstep.models.records import Due
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.builders import bell, identity, new_step, payload
from keptstep.testing.conformance_base import ANN, LEASE, StoreSuite, at_once, refused


class PauseSuite(StoreSuite):
    """Pausing and going on, each told in the log."""

    def test_nothing_of_a_paused_task_is_due_or_claimed(self) -> None:
        (step,) = self.planned()
        task = self.store.pause_task(step.task_id, "kim", "the site is down")
        assert task.paused_at == self.clock.now()
        assert self.store.due() == Due((), ())
        assert self.store.claim_step(step.id, ANN, LEASE) is None
        waiting = self.submit()
        self.store.pause_task(waiting.id, "kim", "not yet")
        assert self.store.due() == Due((), ())
        assert self.store.claim_task(waiting.id, ANN, LEASE) is None

    def test_what_runs_may_end_and_what_follows_waits(self) -> None:
        lease = self.advance()
        first = new_step("first")
        one, two = self.store.plan(lease, [first, new_step("second", needs=(first.id,))])
        held = self.claim(one)
        self.store.pause_task(lease.task.id, "kim", "wait")
        assert self.store.finish(held, payload()).readied == (bell(two),)
        assert self.store.step(two.id).status is StepStatus.READY
        assert self.store.due().steps == ()
        self.store.finish_task(lease, payload())
        assert self.store.task(lease.task.id).status is TaskStatus.DONE

    def test_unpaused_it_goes_on_where_it_was(self) -> None:
        (step,) = self.planned()
        self.store.pause_task(step.task_id, "kim", "wait")
        task = self.store.unpause_task(step.task_id, "kim", "go")
        assert task.paused_at is None
        assert self.store.due().steps == (bell(step),)
        assert self.claim(step).attempt == 1

    def test_who_paused_and_why_stands_in_the_log(self) -> None:
        task = self.submit()
        self.store.pause_task(task.id, "kim", "wait")
        event = self.last_event(task.id)
        assert (event.kind, event.data) == (EventKind.TASK_PAUSED, {"by": "kim", "why": "wait"})
        self.store.unpause_task(task.id, "lee", "go")
        event = self.last_event(task.id)
        assert (event.kind, event.data) == (EventKind.TASK_UNPAUSED, {"by": "lee", "why": "go"})

    def test_what_is_finished_or_already_so_is_refused(self) -> None:
        lease = self.advance()
        self.store.finish_task(lease, payload())
        with refused(IllegalMove), self.unchanged(lease.task.id):
            self.store.pause_task(lease.task.id, "kim", "late")
        task = self.submit()
        with refused(IllegalMove), self.unchanged(task.id):
            self.store.unpause_task(task.id, "kim", "never paused")
        self.store.pause_task(task.id, "kim", "wait")
        with refused(IllegalMove), self.unchanged(task.id):
            self.store.pause_task(task.id, "kim", "again")
        with refused(NotFound):
            self.store.pause_task(TaskId(identity("task")), "kim", "who")

    def test_of_many_who_pause_at_once_one_did(self) -> None:
        task = self.submit()

        def pause(number: int) -> bool:
            try:
                self.store.pause_task(task.id, f"kim {number}", "wait")
            except IllegalMove:
                return False
            return True

        assert at_once(pause, 8).count(True) == 1
