# ruff: noqa: D102, S101 - suites are made of assertions
"""Verdicts on uncertain steps (D3): each is carried out once, told in the log, and final."""

from __future__ import annotations

from typing import Any

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Block, Verdict
from keptstep.models.errors import BadInput, IllegalMove
from keptstep.models.events import EventKind
from keptstep.models.records import NewArtifact, Ruling, Step
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.testing.builders import bell, failure, new_step, payload
from keptstep.testing.conformance_base import ANN, LEASE, StoreSuite, at_once, refused


def ruling(verdict: Verdict, evidence: NewArtifact | None = None) -> Ruling:
    """Return a verdict by a person who says why."""
    return Ruling(verdict, "kim", "the bank says so", evidence)


class VerdictSuite(StoreSuite):
    """What each verdict makes of the step, of what needs it, and of its task."""

    def uncertain(self, **values: Any) -> Step:
        """Return the uncertain step of a task that waits."""
        lease = self.running(effect=Effect.SIDE_EFFECT, **values)
        return self.store.block(lease, failure("no answer")).step

    def test_what_happened_is_done_with_the_evidence_as_its_result(self) -> None:
        found, evidence = self.uncertain(), payload("receipt")
        settled = self.store.settle(found, ruling(Verdict.HAPPENED, evidence))
        step = self.store.step(found.id)
        assert settled.step == step
        assert settled.task_due
        assert (step.status, step.artifact_id) == (StepStatus.DONE, evidence.ref.id)
        assert (step.reason, step.error, step.token) == (None, None, found.token)
        assert self.store.artifact(evidence.ref.id) == evidence.ref
        assert self.store.task(step.task_id).status is TaskStatus.READY
        assert self.kinds(step.task_id, step.id)[-4:] == [
            EventKind.STEP_UNCERTAIN,
            EventKind.STEP_SETTLED,
            EventKind.PAYLOAD_PERSISTED,
            EventKind.TOOL_RESULT_PERSISTED,
        ]

    def test_a_verdict_stands_in_the_log_with_who_gave_it_and_why(self) -> None:
        found = self.uncertain()
        self.store.settle(found, ruling(Verdict.DID_NOT_HAPPEN))
        event = self.last_event(found.task_id)
        assert (event.kind, event.token) == (EventKind.STEP_SETTLED, found.token)
        assert event.data == {
            "verdict": "did not happen",
            "by": "kim",
            "why": "the bank says so",
        }

    def test_what_happened_readies_what_needs_it(self) -> None:
        lease = self.advance()
        first = new_step("send", effect=Effect.SIDE_EFFECT)
        sent, told = self.store.plan(lease, [first, new_step("tell", needs=(first.id,))])
        self.leave(lease)
        found = self.store.block(self.claim(sent), failure()).step
        settled = self.store.settle(found, ruling(Verdict.HAPPENED, payload()))
        assert settled.readied == (bell(told),)

    def test_what_did_not_happen_may_run_again_with_fresh_attempts(self) -> None:
        found = self.uncertain(max_attempts=1)
        settled = self.store.settle(found, ruling(Verdict.DID_NOT_HAPPEN))
        step = self.store.step(found.id)
        assert settled.step == step
        assert (step.status, step.attempts, step.due_at) == (
            StepStatus.READY,
            0,
            self.clock.now(),
        )
        lease = self.store.claim_step(step.id, ANN, LEASE)
        assert lease is not None
        assert lease.token == found.token + 1

    def test_what_is_abandoned_fails_and_takes_what_needs_it_along(self) -> None:
        lease = self.advance()
        first = new_step("send", effect=Effect.SIDE_EFFECT)
        sent, told = self.store.plan(lease, [first, new_step("tell", needs=(first.id,))])
        self.leave(lease)
        found = self.store.block(self.claim(sent), failure()).step
        settled = self.store.settle(found, ruling(Verdict.ABANDON))
        assert (settled.step.status, settled.task_due) == (StepStatus.FAILED, True)
        assert settled.step.reason == "abandoned by kim: the bank says so"
        assert self.store.step(told.id).status is StepStatus.CANCELLED

    def test_in_a_task_that_is_over_nothing_is_made_ready(self) -> None:
        lease = self.advance()
        (step,) = self.store.plan(lease, [new_step(effect=Effect.SIDE_EFFECT)])
        found = self.store.block(self.claim(step), failure()).step
        self.store.fail_task(lease, failure("gave up"), None)
        settled = self.store.settle(found, ruling(Verdict.DID_NOT_HAPPEN))
        assert settled.step.status is StepStatus.FAILED
        assert settled.step.reason == "it did not happen, and its task is failed"

    def test_happened_without_evidence_is_refused(self) -> None:
        found = self.uncertain()
        with refused(BadInput), self.unchanged(found.task_id):
            self.store.settle(found, ruling(Verdict.HAPPENED))

    def test_only_an_uncertain_step_is_settled(self) -> None:
        lease = self.running()
        for found in (lease.step, self.store.finish(lease, payload()).step):
            for verdict in Verdict:
                with refused(IllegalMove), self.unchanged(found.task_id):
                    self.store.settle(found, ruling(verdict, payload()))

    def test_a_verdict_on_an_earlier_attempt_is_refused(self) -> None:
        found = self.uncertain()
        self.store.settle(found, ruling(Verdict.DID_NOT_HAPPEN))
        self.store.block(self.claim(found), failure())
        with refused(IllegalMove), self.unchanged(found.task_id):
            self.store.settle(found, ruling(Verdict.HAPPENED, payload()))

    def test_of_many_verdicts_at_once_one_is_carried_out(self) -> None:
        found = self.uncertain()
        evidence = payload()

        def settle(number: int) -> bool:
            verdict = list(Verdict)[number % 3]
            try:
                self.store.settle(found, ruling(verdict, evidence))
            except IllegalMove:
                return False
            return True

        assert at_once(settle, 9).count(True) == 1
        assert self.kinds(found.task_id, found.id).count(EventKind.STEP_SETTLED) == 1

    def test_recovery_says_in_the_attempt_how_the_holder_went(self) -> None:
        for dead, outcome in (({ANN}, "died"), (set(), "expired")):
            lease = self.running(effect=Effect.SIDE_EFFECT)
            self.clock.advance(LEASE)
            self.store.recover(self.store.step(lease.step.id), Block("unknown"), dead)
            (attempt,) = self.store.attempts(lease.step.id)
            assert (attempt.outcome, attempt.error) == (outcome, None)
