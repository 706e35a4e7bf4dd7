# ruff: noqa: D102, S101 - the names of the tests say what is checked
"""The envelope of a call: started, payload persisted, result persisted (R51 to R53)."""

from __future__ import annotations

from keptstep.models.errors import BadInput
from keptstep.models.events import EventKind
from keptstep.models.ids import ArtifactId
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.builders import failure, identity, new_step, payload
from keptstep.testing.conformance_base import StoreSuite, refused

_WHOLE = [
    EventKind.TOOL_CALL_STARTED,
    EventKind.PAYLOAD_PERSISTED,
    EventKind.TOOL_RESULT_PERSISTED,
]


class EnvelopeSuite(StoreSuite):
    """The log tells of a call what is known of it, in order, and never more."""

    def test_a_mark_says_that_the_payload_is_kept_and_the_step_runs_on(self) -> None:
        lease, kept = self.running(), payload()
        self.store.mark(lease, kept)
        step = self.store.step(lease.step.id)
        assert (step.status, step.artifact_id) == (StepStatus.RUNNING, kept.ref.id)
        assert (step.owner, step.token) == (lease.worker, lease.token)
        assert self.store.artifact(kept.ref.id) == kept.ref
        event = self.last_event(step.task_id)
        assert (event.kind, event.token) == (EventKind.PAYLOAD_PERSISTED, lease.token)
        assert event.data["sha"] == kept.ref.sha
        assert event.data["size"] == kept.ref.size
        assert event.data["artifact"] == kept.ref.id.hex()

    def test_a_mark_wakes_nobody(self) -> None:
        lease = self.running()
        before = self.store.task(lease.step.task_id)
        self.store.mark(lease, payload())
        after = self.store.task(lease.step.task_id)
        assert (after.status, after.due_at) == (before.status, before.due_at)

    def test_marking_one_payload_again_changes_nothing(self) -> None:
        lease, kept = self.running(), payload()
        self.store.mark(lease, kept)
        with self.unchanged(lease.step.task_id):
            self.store.mark(lease, kept)

    def test_a_finish_after_a_mark_adds_only_the_result(self) -> None:
        lease, kept = self.running(), payload()
        self.store.mark(lease, kept)
        self.store.finish(lease, kept)
        assert self.kinds(lease.step.task_id, lease.step.id)[1:] == _WHOLE

    def test_a_finish_without_a_mark_writes_the_payload_too(self) -> None:
        lease = self.running()
        self.store.finish(lease, payload())
        assert self.kinds(lease.step.task_id, lease.step.id)[1:] == _WHOLE

    def test_a_payload_recorded_before_is_still_told_of_as_kept(self) -> None:
        known = payload("seen before")
        self.store.finish(self.running(), known)
        marked, finished = self.running(), self.running()
        self.store.mark(marked, known)
        self.store.finish(marked, known)
        self.store.finish(finished, known)
        for lease in (marked, finished):
            assert self.kinds(lease.step.task_id, lease.step.id)[1:] == _WHOLE

    def test_a_finish_with_another_payload_than_marked_says_so(self) -> None:
        lease, other = self.running(), payload("the other")
        self.store.mark(lease, payload("the first"))
        done = self.store.finish(lease, other)
        assert done.step.artifact_id == other.ref.id
        kinds = self.kinds(lease.step.task_id, lease.step.id)
        assert kinds.count(EventKind.PAYLOAD_PERSISTED) == len(["the first", "the other"])
        assert kinds[-1] is EventKind.TOOL_RESULT_PERSISTED

    def test_every_event_of_a_call_carries_its_token(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 0.0)
        again = self.claim(lease.step)
        self.store.finish(again, payload())
        events = [e for e in self.store.events(lease.step.task_id) if e.step_id == lease.step.id]
        assert [event.token for event in events[1:]] == [1, 1, 2, 2, 2]

    def test_a_finish_frees_the_lease_and_ends_the_attempt(self) -> None:
        lease, kept = self.running(), payload()
        self.clock.advance(2)
        settled = self.store.finish(lease, kept)
        step = self.store.step(lease.step.id)
        assert settled.step == step
        assert (step.status, step.artifact_id) == (StepStatus.DONE, kept.ref.id)
        assert (step.owner, step.lease_until, step.token) == (None, None, lease.token)
        (attempt,) = self.store.attempts(step.id)
        assert (attempt.outcome, attempt.ended_at) == ("done", self.clock.now())

    def test_a_finish_makes_a_waiting_task_ready(self) -> None:
        lease = self.running()
        task = self.store.task(lease.step.task_id)
        assert task.status is TaskStatus.WAITING
        self.clock.advance(3)
        settled = self.store.finish(lease, payload())
        woken = self.store.task(task.id)
        assert (woken.status, woken.due_at) == (TaskStatus.READY, self.clock.now())
        assert settled.task_due
        assert task.id in self.store.due().tasks

    def test_a_woken_task_is_due_even_if_the_clock_was_set_back(self) -> None:
        lease = self.running()
        self.clock.set_back(7200)
        self.store.finish(lease, payload())
        assert lease.step.task_id in self.store.due().tasks

    def test_a_finish_tells_the_holder_of_a_running_task(self) -> None:
        advance = self.advance()
        (step,) = self.store.plan(advance, [new_step()])
        assert self.store.finish(self.claim(step), payload()).task_due
        task = self.store.task(step.task_id)
        assert (task.status, task.owner) == (TaskStatus.RUNNING, advance.worker)

    def test_a_result_forgets_why_earlier_attempts_failed(self) -> None:
        lease = self.running()
        self.store.retry(lease, failure(), 0.0)
        done = self.store.finish(self.claim(lease.step), payload()).step
        assert (done.reason, done.error) == (None, None)

    def test_the_sources_of_a_result_are_recorded(self) -> None:
        first, second = self.running(), self.running()
        source = payload("a page")
        self.store.finish(first, source)
        derived = payload("notes", sources=(source.ref.id,))
        self.store.finish(second, derived)
        assert self.store.sources(derived.ref.id) == [source.ref.id]
        assert self.store.sources(source.ref.id) == []

    def test_an_unknown_source_is_refused_and_the_call_stays_open(self) -> None:
        lease = self.running()
        derived = payload("notes", sources=(ArtifactId(identity("artifact")),))
        for verb in (self.store.mark, self.store.finish):
            with self.unchanged(lease.step.task_id), refused(BadInput):
                verb(lease, derived)
        assert self.store.artifact_ids(derived.ref.id.hex()) == []

    def test_an_artifact_cannot_be_its_own_source(self) -> None:
        lease, itself = self.running(), payload("notes", number=99_000_001)
        derived = payload("notes", number=99_000_001, sources=(itself.ref.id,))
        with self.unchanged(lease.step.task_id), refused(BadInput):
            self.store.finish(lease, derived)

    def test_an_artifacts_id_never_comes_to_stand_for_other_content(self) -> None:
        first, second = self.running(), self.running()
        kept = payload("one", number=99_000_002)
        self.store.finish(first, kept)
        with self.unchanged(second.step.task_id), refused(BadInput):
            self.store.finish(second, payload("two", number=99_000_002))
        assert self.store.artifact(kept.ref.id) == kept.ref
