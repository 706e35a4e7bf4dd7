# ruff: noqa: D102, S101 - the names of the tests say what is checked
"""What ``submit`` has to do."""

from __future__ import annotations

from keptstep.models.errors import BadInput, KeyConflict
from keptstep.models.events import EventKind
from keptstep.models.states import TaskStatus
from keptstep.testing.builders import new_task, payload
from keptstep.testing.conformance_base import StoreSuite, refused


class SubmitSuite(StoreSuite):
    """A task is kept once, whole, with its first event."""

    def test_a_submitted_task_is_ready_now_and_nobody_holds_it(self) -> None:
        new = new_task(max_attempts=5)
        task, created = self.store.submit(new)
        assert created
        assert task == self.store.task(new.id)
        assert (task.status, task.due_at) == (TaskStatus.READY, self.clock.now())
        assert (task.owner, task.lease_until, task.token) == (None, None, 0)
        assert (task.attempts, task.max_attempts) == (0, 5)
        assert (task.created_at, task.ended_at) == (self.clock.now(), None)
        assert (task.workflow, task.input) == (new.workflow, new.input)
        assert (task.input_sha, task.conversation_id) == (new.input_sha, new.conversation_id)

    def test_the_first_event_says_that_it_was_submitted(self) -> None:
        task = self.submit()
        (event,) = self.store.events(task.id)
        assert (event.seq, event.kind) == (1, EventKind.TASK_SUBMITTED)
        assert (event.at, event.step_id, event.token) == (self.clock.now(), None, None)
        assert task.last_seq == 1

    def test_an_input_that_is_an_artifact_is_recorded_with_the_task(self) -> None:
        kept = payload("a long question")
        task = self.submit(new_task(input=None, input_artifact=kept))
        assert (task.input, task.input_id) == (None, kept.ref.id)
        assert self.store.artifact(kept.ref.id) == kept.ref

    def test_a_literal_input_has_at_most_one_kibibyte(self) -> None:
        assert self.submit(new_task(input='"' + "x" * 1022 + '"')).input
        with refused(BadInput):
            self.submit(new_task(input='"' + "x" * 1023 + '"'))
        assert len(self.store.tasks()) == 1

    def test_one_key_means_one_task(self) -> None:
        first = self.submit(new_task(key="monday"))
        self.clock.advance(5)
        again, created = self.store.submit(new_task(key="monday"))
        assert not created
        assert again == first == self.store.task(first.id)
        assert len(self.store.tasks()) == 1
        assert self.kinds(first.id) == [EventKind.TASK_SUBMITTED]

    def test_a_key_answers_with_the_task_as_it_is_now(self) -> None:
        lease = self.advance(self.submit(new_task(key="monday")))
        again, _ = self.store.submit(new_task(key="monday"))
        assert again.status is TaskStatus.RUNNING
        self.store.finish_task(lease, payload())
        again, _ = self.store.submit(new_task(key="monday"))
        assert again.status is TaskStatus.DONE

    def test_a_key_used_for_another_input_is_a_conflict_and_keeps_nothing(self) -> None:
        first = self.submit(new_task(key="monday"))
        other = new_task(key="monday", input_sha=payload("another").ref.sha)
        with self.unchanged(first.id), refused(KeyConflict):
            self.store.submit(other)
        assert self.store.tasks() == [first]
        assert self.store.conversation_tasks(other.conversation_id) == []

    def test_a_key_used_for_another_workflow_is_a_conflict(self) -> None:
        first = self.submit(new_task(key="monday"))
        with self.unchanged(first.id), refused(KeyConflict):
            self.store.submit(new_task(key="monday", workflow="council"))

    def test_tasks_without_a_key_are_never_the_same(self) -> None:
        assert self.submit().id != self.submit().id

    def test_an_id_is_used_once(self) -> None:
        new = new_task()
        task = self.submit(new)
        with self.unchanged(task.id), refused(BadInput):
            self.store.submit(new)

    def test_a_conversation_owns_its_tasks_oldest_first(self) -> None:
        first = new_task()
        second = new_task(conversation_id=first.conversation_id)
        self.submit(first)
        self.submit(second)
        self.submit()
        found = self.store.conversation_tasks(first.conversation_id)
        assert [task.id for task in found] == [first.id, second.id]
