# ruff: noqa: D102, S101 - the names of the tests say what is checked
"""What ``plan`` has to do: steps come whole or not at all, and only under the lease."""

from __future__ import annotations

from dataclasses import replace

from keptstep.models.artifacts import ArtifactClass, Effect
from keptstep.models.errors import BadInput
from keptstep.models.events import EventKind
from keptstep.models.ids import ArtifactId, StepId
from keptstep.models.records import NewStep, TaskLease
from keptstep.models.states import StepStatus
from keptstep.testing.builders import failure, identity, new_step, payload
from keptstep.testing.conformance_base import StoreSuite, refused


class PlanSuite(StoreSuite):
    """New steps of an advance, checked and written in one go."""

    def test_a_step_without_needs_is_ready_now(self) -> None:
        lease = self.advance()
        new = new_step(effect=Effect.IDEMPOTENT, artifact_class=ArtifactClass.IDEMPOTENT_FETCH)
        (step,) = self.store.plan(lease, [new])
        assert step == self.store.step(new.id)
        assert (step.status, step.due_at) == (StepStatus.READY, self.clock.now())
        assert (step.task_id, step.name, step.tool) == (lease.task.id, new.name, new.tool)
        assert (step.effect, step.artifact_class) == (new.effect, new.artifact_class)
        assert (step.input, step.input_sha) == (new.input, new.input_sha)
        assert (step.attempts, step.max_attempts, step.deadline) == (0, 3, 600.0)
        assert (step.token, step.owner, step.artifact_id) == (0, None, None)
        assert self.store.attempts(step.id) == []

    def test_each_planned_step_has_its_event(self) -> None:
        lease = self.advance()
        steps = self.store.plan(lease, [new_step("a"), new_step("b")])
        planned = [e for e in self.store.events(lease.task.id) if e.step_id is not None]
        assert [e.kind for e in planned] == [EventKind.STEP_PLANNED] * 2
        assert [e.step_id for e in planned] == [step.id for step in steps]
        assert planned[0].data["name"] == "a"
        assert planned[0].data["tool"] == steps[0].tool

    def test_positions_go_on_from_one_call_to_the_next(self) -> None:
        lease = self.advance()
        self.store.plan(lease, [new_step("c"), new_step("a")])
        self.store.plan(lease, [new_step("b")])
        steps = self.store.steps(lease.task.id)
        assert [step.name for step in steps] == ["c", "a", "b"]
        assert [step.position - steps[0].position for step in steps] == [0, 1, 2]

    def test_a_step_is_pending_while_one_it_needs_is_not_done(self) -> None:
        lease = self.advance()
        first = new_step("a")
        _, second = self.store.plan(lease, [first, new_step("b", needs=(first.id,))])
        assert (second.status, second.needs) == (StepStatus.PENDING, (first.id,))
        assert self.store.step(second.id) == second
        assert self.store.claim_step(second.id, lease.worker, 15.0) is None

    def test_a_step_that_needs_only_done_ones_is_ready_at_once(self) -> None:
        lease = self.advance()
        (first,) = self.store.plan(lease, [new_step("a")])
        self.store.finish(self.claim(first), payload())
        (second,) = self.store.plan(lease, [new_step("b", needs=(first.id,))])
        assert second.status is StepStatus.READY

    def test_a_step_that_needs_a_failed_one_is_cancelled_at_once(self) -> None:
        lease = self.advance()
        (first,) = self.store.plan(lease, [new_step("a")])
        self.store.fail(self.claim(first), failure())
        second = new_step("b", needs=(first.id,))
        third = new_step("c", needs=(second.id,))
        planned = self.store.plan(lease, [second, third, new_step("d")])
        assert [step.status for step in planned] == [
            StepStatus.CANCELLED,
            StepStatus.CANCELLED,
            StepStatus.READY,
        ]
        assert self.kinds(lease.task.id, second.id) == [
            EventKind.STEP_PLANNED,
            EventKind.STEP_CANCELLED,
        ]
        newest = self.store.settled(lease.task.id, 0)[1]
        assert {step.id for step in newest} == {first.id, second.id, third.id}

    def test_a_need_named_twice_counts_once(self) -> None:
        lease = self.advance()
        first = new_step("a")
        _, second = self.store.plan(lease, [first, new_step("b", needs=(first.id, first.id))])
        assert second.needs == (first.id,)

    def test_an_input_that_is_an_artifact_is_recorded_with_the_step(self) -> None:
        lease, kept = self.advance(), payload("a long page")
        (step,) = self.store.plan(lease, [new_step(input=None, input_artifact=kept)])
        assert step.input_id == kept.ref.id
        assert self.store.artifact(kept.ref.id) == kept.ref

    def test_no_steps_are_no_event(self) -> None:
        lease = self.advance()
        with self.unchanged(lease.task.id):
            assert self.store.plan(lease, []) == []

    def test_steps_can_be_up_to_the_limit_and_not_one_more(self) -> None:
        lease = self.advance()
        many = [new_step(f"n{number}") for number in range(self.max_steps)]
        self.store.plan(lease, many[:-1])
        self._refused([many[-1], new_step("one-more")], lease)
        self.store.plan(lease, [many[-1]])
        assert len(self.store.steps(lease.task.id)) == self.max_steps

    def test_a_name_must_fit_the_pattern(self) -> None:
        for name in ("", "a b", "a/b", "a\n", "é", "x" * 129, "a\x00", "\u202ea"):
            self._refused([new_step("fine"), new_step(name), new_step("also-fine")])
        lease = self.advance()
        for name in ("x" * 128, "Az09._:-"):
            assert self.store.plan(lease, [new_step(name)])[0].name == name

    def test_a_name_is_used_once_in_a_task(self) -> None:
        lease = self.advance()
        self.store.plan(lease, [new_step("a")])
        with self.unchanged(lease.task.id), refused(BadInput):
            self.store.plan(lease, [new_step("b"), new_step("a"), new_step("c")])

    def test_a_name_is_used_once_in_a_call(self) -> None:
        self._refused([new_step("a"), new_step("b"), new_step("a")])

    def test_another_task_may_use_the_name_again(self) -> None:
        for _ in range(2):
            assert self.store.plan(self.advance(), [new_step("a")])[0].name == "a"

    def test_an_id_is_used_once(self) -> None:
        known = new_step("a")
        self.store.plan(self.advance(), [known])
        self._refused([new_step("b"), replace(known, name="c")])

    def test_a_need_must_be_known(self) -> None:
        self._refused([new_step("a"), new_step("b", needs=(StepId(identity("step")),))])

    def test_a_need_must_belong_to_the_task(self) -> None:
        (other,) = self.planned()
        self._refused([new_step("a"), new_step("b", needs=(other.id,))])

    def test_a_need_must_come_earlier(self) -> None:
        later = new_step("b")
        self._refused([new_step("a", needs=(later.id,)), later])

    def test_a_step_cannot_need_itself(self) -> None:
        itself = new_step("a")
        self._refused([replace(itself, needs=(itself.id,))])

    def test_a_literal_input_has_at_most_one_kibibyte(self) -> None:
        self._refused([new_step("a"), new_step("b", input='"' + "x" * 1023 + '"')])

    def test_an_input_may_only_name_known_sources(self) -> None:
        unknown = ArtifactId(identity("artifact"))
        derived = payload("derived", sources=(unknown,))
        self._refused([new_step("a"), new_step("b", input=None, input_artifact=derived)])

    def _refused(self, steps: list[NewStep], lease: TaskLease | None = None) -> None:
        """Demand that a plan is refused and that no step of it is left behind."""
        lease = lease or self.advance()
        before = self.store.due()
        with self.unchanged(lease.task.id), refused(BadInput):
            self.store.plan(lease, steps)
        assert self.store.due() == before
