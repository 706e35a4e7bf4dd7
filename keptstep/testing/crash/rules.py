"""The rules of a crash, judged from what was on record at the death and after the recovery.

They are written anew from the promise, not taken from the kernel: a fault in the kernel's own
judgement has to show here.
"""

from __future__ import annotations

from collections.abc import Sequence

from keptstep.models.artifacts import Effect
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.testing.crash.records import Called, Seen, StepSeen, StepTrial

_S = StepStatus

#: What is looked at in every trial, as sentences for people.
CHECKED = (
    "no call without a start on record before it",
    "a side effect is called at most once",
    "a side effect ends uncertain exactly when it was started and left no result",
    "a finished step is not called again, and its result stays the same",
    "a result that was kept is taken up without another call",
    "a call that may be repeated leaves one result",
    "every call of a step is offered the same key",
    "nothing is told before it is on record",
    "rows and log fit together, and every result matches its hash",
)
NOT_SEEN = "whether the provider honours the key cannot be seen from here"


def judge_home(before: Seen, after: Seen, shown: int) -> tuple[str, ...]:
    """Return what is wrong with a home as a whole; ``shown`` counts what the dead had told."""
    found = [f"at the death: {told}" for told in before.contradictions]
    found += [f"after the recovery: {told}" for told in after.contradictions]
    if shown > sum(step.shown for step in before.steps.values()):
        found.append("an outcome was told before it was on record")
    return tuple(found)


def judge_steps(
    before: Seen, after: Seen, calls: Sequence[Called], calls_before: int
) -> tuple[StepTrial, ...]:
    """Judge every step that was planned or called; the first ``calls_before`` calls came first."""
    names = dict.fromkeys((*after.steps, *before.steps, *(call.step for call in calls)))
    trials = []
    for name in names:
        early = [call for call in calls[:calls_before] if call.step == name]
        late = [call for call in calls[calls_before:] if call.step == name]
        trials.append(_judge(name, before.steps.get(name), after.steps.get(name), early, late))
    return tuple(trials)


def _judge(
    name: str,
    before: StepSeen | None,
    after: StepSeen | None,
    early: Sequence[Called],
    late: Sequence[Called],
) -> StepTrial:
    step = after or before
    violations = []
    if len(early) > (before.starts if before else 0):
        violations.append("called before its start was on record")
    if step is not None:
        violations += _of_calls(step, early, late)
        violations += _of_end(before, after, late)
    return StepTrial(
        name=name,
        effect=str(step.effect) if step else "",
        found=str(before.status) if before else "not planned",
        unpaired=_unpaired(before),
        calls_before=len(early),
        calls=len(early) + len(late),
        ended=str(after.status) if after else "lost",
        intact=after is not None and after.intact,
        late=after.late if after else 0,
        violations=tuple(violations),
    )


def _of_calls(step: StepSeen, early: Sequence[Called], late: Sequence[Called]) -> list[str]:
    calls = [*early, *late]
    violations = []
    if step.effect is Effect.SIDE_EFFECT and len(calls) > 1 + step.again:
        violations.append(f"a side effect was called {len(calls)} times")
    if len({call.key for call in calls}) > 1:
        violations.append("its calls were offered different keys")
    return violations


def _of_end(before: StepSeen | None, after: StepSeen | None, late: Sequence[Called]) -> list[str]:
    if after is None:
        return ["it was on record and is gone"]
    violations = []
    if after.status is _S.DONE and not after.intact:
        violations.append("it is done and its result is not kept")
    if after.results > 1:
        violations.append(f"{after.results} results were recorded")
    if (after.status is _S.DONE) != (after.results == 1):
        violations.append(f"it is {after.status} with {after.results} results on record")
    if before is not None and before.status in STEP_FINISHED:
        return violations + _of_finished(before, after, late)
    if before is not None and _kept(before):
        return violations + _of_kept(before, after, late)
    return violations + _of_open(before, after, late)


def _of_finished(before: StepSeen, after: StepSeen, late: Sequence[Called]) -> list[str]:
    violations = []
    if late:
        violations.append(f"it was {before.status} and was called again")
    if (after.status, after.sha) != (before.status, before.sha):
        violations.append(f"it was {before.status} and its outcome changed")
    return violations


def _of_kept(before: StepSeen, after: StepSeen, late: Sequence[Called]) -> list[str]:
    violations = []
    if late:
        violations.append("its result was kept and it was called again")
    if after.status is not _S.DONE:
        violations.append(f"its result was kept and it ended {after.status}")
    elif after.sha != before.sha:
        violations.append("its result was kept and another one took its place")
    return violations


def _of_open(before: StepSeen | None, after: StepSeen, late: Sequence[Called]) -> list[str]:
    """Judge a step that had no result when the process died."""
    must_ask = after.effect is Effect.SIDE_EFFECT and _unpaired(before)
    if must_ask:
        if not after.verdicts and after.status is not _S.UNCERTAIN:
            return [f"it was started without a result and ended {after.status}, not uncertain"]
        return []
    used_up = before is not None and _unpaired(before) and before.attempts >= before.max_attempts
    wanted = _S.FAILED if used_up else _S.DONE
    if before is not None and before.status is _S.UNCERTAIN and not late:
        wanted = _S.UNCERTAIN
    if after.status is wanted:
        return []
    return [f"it ended {after.status}, and should have been {wanted}"]


def _kept(step: StepSeen) -> bool:
    return step.status is _S.RUNNING and step.marked and step.intact


def _unpaired(step: StepSeen | None) -> bool:
    return step is not None and step.status is _S.RUNNING and not _kept(step)
