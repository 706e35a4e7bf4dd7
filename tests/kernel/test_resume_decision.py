"""``resume_decision``: the whole table, each row of facts under exactly one rule (R3 to R6)."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Block, Decision, Fail, LeaveAlone, Run
from keptstep.models.ids import ArtifactId
from keptstep.models.states import StepStatus
from keptstep.testing.builders import a_step, identity
from keptstep.workflows.kernel import resume_decision

NOW = 1000.0
CAP = 3

S, E = StepStatus, Effect
ANY_EFFECT = frozenset(Effect)
REPEATABLE = frozenset({E.NONE, E.IDEMPOTENT})
USED_UP, LEFT = frozenset({CAP}), frozenset({0, 1, CAP - 1})
ANY_COUNT = USED_UP | LEFT


class Facts(NamedTuple):
    status: StepStatus
    effect: Effect
    attempts: int
    holder: str  # live; ends now; expired; dead, its lease live
    payload: str  # none; marked and intact; marked and not intact; nothing marked, intact claimed
    due: str  # past, now, later


class Rule(NamedTuple):
    answer: str
    status: frozenset[StepStatus]
    effect: frozenset[Effect] = ANY_EFFECT
    attempts: frozenset[int] = ANY_COUNT
    holder: frozenset[str] = frozenset({"live", "ends now", "expired", "dead"})
    payload: frozenset[str] = frozenset({"none", "intact", "broken", "unmarked"})
    due: frozenset[str] = frozenset({"past", "now", "later"})

    def covers(self, facts: Facts) -> bool:
        return all(fact in allowed for fact, allowed in zip(facts, self[1:], strict=True))


GONE = frozenset({"ends now", "expired", "dead"})
UNKEPT = frozenset({"none", "broken", "unmarked"})
RULES = (
    Rule("leave alone", frozenset({S.DONE, S.FAILED, S.CANCELLED})),
    Rule("leave alone", frozenset({S.PENDING, S.WAITING})),
    Rule("block", frozenset({S.UNCERTAIN})),
    Rule("fail", frozenset({S.READY}), attempts=USED_UP),
    Rule("leave alone", frozenset({S.READY}), attempts=LEFT, due=frozenset({"later"})),
    Rule("run", frozenset({S.READY}), attempts=LEFT, due=frozenset({"past", "now"})),
    Rule("leave alone", frozenset({S.RUNNING}), holder=frozenset({"live"})),
    Rule("roll forward", frozenset({S.RUNNING}), holder=GONE, payload=frozenset({"intact"})),
    Rule("block", frozenset({S.RUNNING}), frozenset({E.SIDE_EFFECT}), holder=GONE, payload=UNKEPT),
    Rule("fail", frozenset({S.RUNNING}), REPEATABLE, USED_UP, GONE, UNKEPT),
    Rule("run", frozenset({S.RUNNING}), REPEATABLE, LEFT, GONE, UNKEPT),
)
EVERY = [
    Facts(*row)
    for row in product(
        StepStatus,
        Effect,
        sorted(ANY_COUNT),
        sorted(RULES[0].holder),
        sorted(RULES[0].payload),
        sorted(RULES[0].due),
    )
]
LEASES = {"live": NOW + 1, "ends now": NOW, "expired": NOW - 1, "dead": NOW + 1}
DUES = {"past": NOW - 1, "now": NOW, "later": NOW + 1}


def decide(facts: Facts) -> Decision:
    running = facts.status is S.RUNNING
    marked = facts.payload in {"intact", "broken"}
    step = a_step(
        facts.status,
        effect=facts.effect,
        attempts=facts.attempts,
        max_attempts=CAP,
        lease_until=LEASES[facts.holder] if running else None,
        due_at=DUES[facts.due],
        artifact_id=ArtifactId(identity("artifact", 1)) if marked else None,
    )
    return resume_decision(
        step,
        NOW,
        holder_dead=facts.holder == "dead",
        payload_intact=facts.payload in {"intact", "unmarked"},
    )


def named(decision: Decision) -> str:
    match decision:
        case Run(roll_forward=True):
            return "roll forward"
        case Run():
            return "run"
        case Block():
            return "block"
        case Fail():
            return "fail"
        case LeaveAlone():
            return "leave alone"


def test_every_row_of_facts_falls_under_exactly_one_rule() -> None:
    assert len(EVERY) == 8 * 3 * 4 * 4 * 4 * 3
    assert [facts for facts in EVERY if sum(rule.covers(facts) for rule in RULES) != 1] == []


def test_the_kernel_answers_every_row_as_its_rule_says() -> None:
    answers = {facts: named(decide(facts)) for facts in EVERY}
    wrong = {
        facts: answer
        for facts, answer in answers.items()
        if answer != next(rule.answer for rule in RULES if rule.covers(facts))
    }
    assert wrong == {}


def test_every_answer_says_why_in_one_line() -> None:
    for facts in EVERY:
        reason = decide(facts).reason
        assert reason
        assert "\n" not in reason


def test_the_same_facts_get_the_same_answer() -> None:
    assert [decide(facts) for facts in EVERY] == [decide(facts) for facts in EVERY]
