# ruff: noqa: D102, S101, PLR2004 - the names of the tests say what is checked
"""What the reads answer."""

from __future__ import annotations

from keptstep.models.errors import BadInput, NotFound
from keptstep.models.events import EventKind
from keptstep.models.ids import ArtifactId, ConversationId, StepId, TaskId
from keptstep.models.records import Due
from keptstep.models.states import StepStatus
from keptstep.testing.builders import bell, failure, identity, new_step, payload
from keptstep.testing.conformance_base import StoreSuite, refused


class ReadSuite(StoreSuite):
    """Reads show what was committed, in a known order, and say so when there is nothing."""

    def test_what_does_not_exist_is_not_found(self) -> None:
        with refused(NotFound):
            self.store.task(TaskId(identity("task")))
        with refused(NotFound):
            self.store.step(StepId(identity("step")))
        with refused(NotFound):
            self.store.artifact(ArtifactId(identity("artifact")))

    def test_lists_of_what_does_not_exist_are_empty(self) -> None:
        task_id, step_id = TaskId(identity("task")), StepId(identity("step"))
        assert self.store.steps(task_id) == []
        assert self.store.unfinished(task_id) == []
        assert self.store.events(task_id) == []
        assert self.store.attempts(step_id) == []
        assert self.store.sources(ArtifactId(identity("artifact"))) == []
        assert self.store.conversation_tasks(ConversationId(identity("conversation"))) == []

    def test_due_tells_of_some_tasks_only_when_asked(self) -> None:
        mine, theirs = self.advance(), self.advance()
        (step,) = self.store.plan(mine, [new_step()])
        self.store.plan(theirs, [new_step()])
        waiting = self.submit()
        due = self.store.due(only=[mine.task.id])
        assert (due.steps, due.tasks) == ((bell(step),), ())
        assert self.store.due(only=[waiting.id]).tasks == (waiting.id,)
        assert self.store.due(only=[]) == Due((), ())

    def test_due_leaves_out_what_the_asking_worker_does_not_know(self) -> None:
        advance = self.advance()
        (step,) = self.store.plan(advance, [new_step()])
        waiting = self.submit()
        known = self.store.due(tools=[step.tool], workflows=[waiting.workflow])
        assert (known.steps, known.tasks) == ((bell(step),), (waiting.id,))
        assert self.store.due(tools=["other"], workflows=["other"]) == Due((), ())
        assert self.store.due(tools=[], workflows=[]) == Due((), ())

    def test_unfinished_leaves_out_what_is_done_failed_or_cancelled(self) -> None:
        advance = self.advance()
        wanted = [new_step(f"step:{n}") for n in range(3)]
        first, second, third = self.store.plan(advance, wanted)
        (behind,) = self.store.plan(advance, [new_step(name="behind", needs=(second.id,))])
        self.store.finish(self.claim(first), payload())
        self.store.fail(self.claim(second), failure())
        self.claim(third)
        assert self.store.unfinished(advance.task.id) == [self.store.step(third.id)]
        assert self.store.step(behind.id).status is StepStatus.CANCELLED

    def test_time_is_the_clock(self) -> None:
        assert self.store.now() == self.clock.now()
        self.clock.advance(5)
        assert self.store.now() == self.clock.now()

    def test_tasks_are_listed_newest_first(self) -> None:
        ids = [self.submit().id for _ in range(3)]
        assert [task.id for task in self.store.tasks()] == ids[::-1]
        assert [task.id for task in self.store.tasks(limit=2)] == [ids[2], ids[1]]

    def test_unfinished_tasks_leave_out_the_finished(self) -> None:
        ready, running = self.submit(), self.advance()
        done, failed, blocked = self.advance(), self.advance(), self.advance()
        self.store.finish_task(done, payload())
        self.store.fail_task(failed, failure(), None)
        self.store.block_task(blocked, failure())
        found = {task.id for task in self.store.tasks(unfinished=True)}
        assert found == {ready.id, running.task.id, blocked.task.id}

    def test_an_id_is_found_by_its_beginning_or_its_end(self) -> None:
        step = self.running().step
        kept = payload()
        self.store.mark(self.running(), kept)
        whole = step.id.hex()
        assert self.store.step_ids(whole[-8:]) == [step.id]
        assert self.store.step_ids(whole[:31]) == [step.id]
        assert self.store.step_ids(whole.upper()) == [step.id]
        assert self.store.task_ids(step.task_id.hex()[-8:]) == [step.task_id]
        assert self.store.artifact_ids(kept.ref.id.hex()[-8:]) == [kept.ref.id]
        assert self.store.step_ids(whole[8:24]) == [], "the middle is no end"

    def test_a_fragment_may_carry_the_hyphens_of_a_uuid(self) -> None:
        task = self.submit()
        digits = task.id.hex()
        assert self.store.task_ids(f"{digits[:8]}-{digits[8:12]}-{digits[12:]}") == [task.id]

    def test_a_fragment_that_fits_many_finds_ten(self) -> None:
        for _ in range(12):
            self.submit()
        common = identity("task", 1).hex()[:6]
        assert len(self.store.task_ids(common)) == 10

    def test_what_is_no_fragment_of_an_id_is_refused(self) -> None:
        self.submit()
        for fragment in ("", "xyz", "%", "_", "a" * 33):
            for find in (self.store.task_ids, self.store.step_ids, self.store.artifact_ids):
                with refused(BadInput):
                    find(fragment)

    def test_events_come_by_number_page_by_page(self) -> None:
        lease = self.running()
        self.store.finish(lease, payload())
        task_id = lease.step.task_id
        whole = self.store.events(task_id)
        assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
        assert self.store.events(task_id, after=2, limit=3) == whole[2:5]
        assert self.store.events(task_id, after=len(whole)) == []
        assert self.store.events(task_id, after=-5, limit=1) == whole[:1]

    def test_changing_what_was_read_changes_nothing_that_is_kept(self) -> None:
        task = self.submit()
        (event,) = self.store.events(task.id)
        assert isinstance(event.data, dict)
        event.data.clear()
        assert self.store.events(task.id)[0].data["workflow"] == task.workflow

    def test_settled_tells_what_finished_since(self) -> None:
        first = new_step("a")
        a, b, c, d = self.planned(
            first, new_step("b"), new_step("c", needs=(first.id,)), new_step("d")
        )
        task_id = a.task_id
        start, nothing = self.store.settled(task_id, 0)
        assert (start, nothing) == (self.store.task(task_id).last_seq, [])
        self.store.finish(self.claim(b), payload())
        middle, finished = self.store.settled(task_id, start)
        assert finished == [self.store.step(b.id)]
        self.store.fail(self.claim(a), failure())
        self.store.block(self.claim(d), failure())
        newest, finished = self.store.settled(task_id, middle)
        assert finished == [self.store.step(a.id), self.store.step(c.id)], "failed, cancelled"
        assert newest == self.store.task(task_id).last_seq
        assert self.store.settled(task_id, newest) == (newest, [])

    def test_settled_forgets_a_failure_that_was_requeued(self) -> None:
        lease = self.running()
        self.store.fail(lease, failure())
        self.store.requeue(lease.step.id, "kim", "again")
        assert self.store.settled(lease.step.task_id, 0)[1] == []

    def test_settled_asks_for_a_task_that_exists(self) -> None:
        with refused(NotFound):
            self.store.settled(TaskId(identity("task")), 0)

    def test_due_is_what_may_be_claimed_the_longest_due_first(self) -> None:
        later, sooner = self.running(), self.running()
        self.store.retry(later, failure(), 20.0)
        self.store.retry(sooner, failure(), 10.0)
        assert self.store.due().steps == ()
        self.clock.advance(10)
        assert self.store.due().steps == (bell(sooner.step),)
        self.clock.advance(10)
        assert self.store.due().steps == (bell(sooner.step), bell(later.step))
        assert self.store.due(limit=1).steps == (bell(sooner.step),)

    def test_due_tells_of_tasks_too(self) -> None:
        ready, held = self.submit(), self.advance()
        failed = self.store.fail_task(self.advance(), failure(), 30.0)
        assert self.store.due().tasks == (ready.id,)
        self.clock.advance(30)
        assert set(self.store.due().tasks) == {ready.id, failed.id}
        assert held.task.id not in self.store.due().tasks

    def test_attempts_come_by_number(self) -> None:
        lease = self.running()
        for _ in range(2):
            self.store.release(lease)
            lease = self.claim(lease.step)
        assert [a.n for a in self.store.attempts(lease.step.id)] == [1, 2, 3]
        assert EventKind.STEP_RELEASED in self.kinds(lease.step.task_id)
