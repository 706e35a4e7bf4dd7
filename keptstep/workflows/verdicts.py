"""A person's verdict on an uncertain step: judged, evidence kept, carried out (D3, D4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keptstep.models.artifacts import ArtifactRef
from keptstep.models.decisions import Verdict
from keptstep.models.errors import IllegalMove, VerdictTooEarly
from keptstep.models.ids import ArtifactId, StepId, WorkerId
from keptstep.models.records import NewArtifact, Ruling, Settled, Step
from keptstep.models.states import StepStatus
from keptstep.workflows.kernel import verdict_wait
from keptstep.workflows.ports import ArtifactStore, TaskStore
from keptstep.workflows.values import encode_value


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows that it happened: the value the tool would have returned, or a kept artifact."""

    value: object = None
    kept: ArtifactRef | None = None


def seconds_left(store: TaskStore, step: Step, proven_dead: Callable[[WorkerId], bool]) -> float:
    """Return the seconds until a verdict on an uncertain step may be given, 0 for now (D4)."""
    attempts = store.attempts(step.id)
    last = attempts[-1] if attempts else None
    dead = last is not None and proven_dead(last.worker)
    return verdict_wait(step, last, store.now(), holder_dead=dead)


class Verdicts:
    """Settles uncertain steps of one home."""

    def __init__(
        self,
        store: TaskStore,
        artifacts: ArtifactStore,
        new_id: Callable[[], bytes],
        proven_dead: Callable[[WorkerId], bool],
    ) -> None:
        self._store = store
        self._artifacts = artifacts
        self._new_id = new_id
        self._proven_dead = proven_dead

    def settle(
        self,
        step_id: StepId,
        verdict: Verdict,
        by: str,
        why: str,
        evidence: Evidence | None = None,
    ) -> Settled:
        """Carry out a verdict; without evidence the result of what happened is JSON ``null``.

        Raises ``IllegalMove`` when the step is not uncertain, ``VerdictTooEarly`` while its old
        holder may still act, ``TooLarge`` for evidence over the limit; then nothing changed.
        """
        step = self._store.step(step_id)
        if step.status is not StepStatus.UNCERTAIN:
            raise IllegalMove(
                f"step {step.name} is {step.status}: only an uncertain step needs a verdict"
            )
        left = seconds_left(self._store, step, self._proven_dead)
        if left > 0:
            raise VerdictTooEarly(
                f"the worker that began step {step.name} may still be at it: no verdict before "
                f"its deadline, in {left:.0f} s, or before that worker is proven dead",
                left,
            )
        kept = None
        if verdict is Verdict.HAPPENED:
            kept = self._keep(step, evidence or Evidence())
        return self._store.settle(step, Ruling(verdict, by, why, kept))

    def _keep(self, step: Step, evidence: Evidence) -> NewArtifact:
        if evidence.kept is not None:
            return NewArtifact(evidence.kept)
        data, media_type = encode_value(evidence.value)
        blob = self._artifacts.put([data])
        identity = ArtifactId(self._new_id())
        ref = ArtifactRef(identity, blob.sha, step.artifact_class, media_type, blob.size)
        return NewArtifact(ref)
