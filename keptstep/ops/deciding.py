"""What a decision rests on, seen as a sweeper on this host would see it just now."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from keptstep.models.decisions import Block, Decision, Fail, LeaveAlone, Run
from keptstep.models.ids import WorkerId
from keptstep.models.records import Step
from keptstep.ops.advice import Advice
from keptstep.ops.holders import living
from keptstep.ops.homes import Reading
from keptstep.ops.standing import Known
from keptstep.workers.liveness import proven_dead
from keptstep.workflows.definition import REGISTRY
from keptstep.workflows.kernel import resume_decision

MOST = 20  #: lines of one kind that are shown
NO_WORKER = "no worker runs on this home (on this host): keptstep worker, or keptstep resume"
IMPORT = "a worker has to be started with --import and its module"


@dataclass
class Explained:
    """A decision for people (title, decision, reason, facts, next) and for programs."""

    title: str
    decision: str
    reason: str
    facts: list[tuple[str, str | None]]
    document: dict[str, Any]
    also: list[str] = field(default_factory=list)
    next: list[Advice] = field(default_factory=list)


class Facts:
    """What is known about a home just now, the way a sweeper on this host sees it."""

    def __init__(self, home: Reading) -> None:
        self.home = home
        self.store = home.store
        self.now = home.store.now()

    @cached_property
    def workers(self) -> int:
        """How many workers of this host live."""
        return len(living(self.home.settings.worker_locks))

    @property
    def known(self) -> Known:
        """What this process knows."""
        return Known(REGISTRY.workflows, REGISTRY.tools)

    def dead(self, owner: WorkerId | None) -> bool:
        """Whether a lease's holder is proven dead."""
        return owner is not None and proven_dead(self.home.settings.worker_locks, owner)

    def intact(self, step: Step) -> bool:
        """Whether the payload a running step was marked with is whole."""
        if step.artifact_id is None:
            return False
        return self.home.artifacts.intact(self.store.artifact(step.artifact_id).sha)

    def decision(self, step: Step) -> Decision:
        """Return what recovery would decide about a step now."""
        return resume_decision(
            step, self.now, holder_dead=self.dead(step.owner), payload_intact=self.intact(step)
        )

    def life(self, owner: WorkerId | None) -> str | None:
        """Return in words whether a lease's holder lives."""
        if owner is None:
            return None
        if self.dead(owner):
            return "proven dead: its lock on this host is free"
        if owner in living(self.home.settings.worker_locks):
            return "alive on this host"
        return "not of this host, or gone: its lease decides"


def decided(decision: Decision) -> tuple[str, str]:
    """Return a decision's name for programs and its words for people."""
    match decision:
        case Run(roll_forward=True):
            return "roll_forward", "finish it with its kept result, without a call"
        case Run():
            return "run", "run it"
        case Block():
            return "block", "stop it for a person"
        case Fail():
            return "fail", "give it up"
        case LeaveAlone():
            return "leave_alone", "leave it alone"
