"""With one rule of the protocol switched off, the crash test says which promise is broken."""

from dataclasses import dataclass

import pytest

from keptstep.testing.crash import CrashTest

pytestmark = pytest.mark.crash


@dataclass(frozen=True)
class Mutant:
    """A rule that is off, where that shows, and what is said."""

    name: str
    effect: str
    point: str
    told: str


MUTANTS = [
    Mutant("start-after-call", "side effect", "call.returned", "before its start was on record"),
    Mutant("start-after-call", "side effect", "keep.kept", "a side effect was called 2 times"),
    Mutant("uncertain-runs-again", "side effect", "call.acted", "was called 2 times"),
    Mutant("uncertain-runs-again", "side effect", "claim.committed", "not uncertain"),
    Mutant("told-before-record", "none", "finish.before", "told before it was on record"),
    Mutant("row-before-file", "none", "keep.temporary", "its result is not kept"),
    Mutant("done-in-two", "none", "finish.committed", "every status has its event"),
    Mutant("kept-runs-again", "idempotent", "mark.committed", "kept and it was called again"),
    Mutant("kept-runs-again", "side effect", "mark.committed", "kept and it ended uncertain"),
    Mutant("new-key", "idempotent", "call.acted", "different keys"),
    Mutant("done-runs-again", "none", "finish.committed", "it was done and was called again"),
]


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=lambda each: f"{each.name}-{each.effect}-{each.point}"
)
def test_a_rule_that_is_switched_off_is_noticed(mutant: Mutant) -> None:
    given = {"effect": mutant.effect}
    with CrashTest("tests.crash.row:row", given, env={"CRASH_MUTANT": mutant.name}) as test:
        trial = test.die_at(mutant.point)
    assert trial is not None, "the point was reached"
    assert any(mutant.told in told for told in trial.broken), trial.broken
