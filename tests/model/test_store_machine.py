"""Two task stores side by side under random work, death and recovery: they answer alike.

Whatever one store answers or refuses the other answers or refuses too, and after each move all
that can be read from both is the same. What has to hold in every store at every moment is
checked beside it, and at the end, when the faults stop, all work comes to an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
)

from keptstep.models.artifacts import Effect
from keptstep.models.ids import ConversationId, StepId, TaskId, WorkerId
from keptstep.models.records import NewArtifact, NewStep, StepLease, TaskLease
from keptstep.models.states import TaskStatus
from keptstep.testing.builders import failure, identity, new_step, new_task, payload
from keptstep.testing.conformance_base import LEASE
from keptstep.workflows.ports import TaskStore
from tests.model.side_by_side import SideBySide

MOST_TASKS = 3
WORKERS = st.sampled_from([WorkerId(f"worker-{number}") for number in range(3)])
PICKS = st.integers(0, 10_000)
#: Mostly a lease that is current, and now and then one that was lost.
STALE = st.sampled_from([False, False, False, False, True])

ADVANCE = ["leave", "leave", "leave", "release", "fail", "give up", "block", "finish", "reopen"]
ATTEMPT = [
    *["claim", "claim", "claim", "finish", "finish", "finish", "mark", "mark", "retry", "retry"],
    *["fail", "block", "release", "late", "requeue"],
]
SURROUNDINGS: list[float | str] = [-30.0, -1.0, 1.0, 5.0, LEASE, 50.0, "renews", "dies", "lives"]


class StoreMachine(SideBySide):
    def step_lease(self, pick: int, stale: bool) -> StepLease | None:
        """Return any lease there ever was, or a current one, taken now if there is none."""
        current = [lease for lease in self.step_leases if self.is_current(lease)]
        if not current and not stale:
            self.claim_step(pick, WorkerId("worker-0"), anything=False)
            current = self.step_leases[-1:]
        among = current or self.step_leases
        return among[pick % len(among)] if among else None

    def task_lease(self, pick: int, stale: bool) -> TaskLease:
        """Return any lease there ever was, or the newest, taken now if a task is ready."""
        due = self.stores[0].due().tasks
        if not stale and due:
            self.claim_task(due[pick % len(due)], WorkerId("worker-1"))
        among = self.task_leases if stale else self.task_leases[-1:]
        return among[pick % len(among)]

    # -- tasks -------------------------------------------------------------------------------
    @initialize(
        effects=st.lists(st.sampled_from(Effect), min_size=7, max_size=7),
        caps=st.lists(st.integers(1, 3), min_size=7, max_size=7),
        waits=st.booleans(),
    )
    def begin(self, effects: list[Effect], caps: list[int], waits: bool) -> None:
        """Begin with a plan: three independent steps, three behind them, one behind those."""
        self.submit(key=None, conversation=1)
        self.claim_task(self.task_ids[0], WorkerId("worker-0"))
        places: tuple[tuple[int, ...], ...] = ((), (), (), (0,), (0, 1), (2,), (3, 4))
        news: list[NewStep] = []
        for effect, cap, needs in zip(effects, caps, places, strict=True):
            news.append(self.a_new_step(effect, cap, tuple(news[need].id for need in needs)))
        self.plan_both(self.task_leases[0], news)
        if waits:
            self.both(lambda store: store.leave(self.task_leases[0], 99))

    @precondition(lambda self: len(self.task_ids) < MOST_TASKS)
    @rule(key=st.sampled_from([None, "monday"]), conversation=st.integers(1, 2))
    def submit(self, key: str | None, conversation: int) -> None:
        new = new_task(
            self.number(),
            key=key,
            conversation_id=ConversationId(identity("conversation", conversation)),
            workflow="council" if conversation == 2 else "research",
            max_attempts=2,
        )
        answer = self.both(lambda store: store.submit(new))
        if answer is not None and answer[1]:
            self.task_ids.append(new.id)

    def claim_task(self, task_id: TaskId, worker: WorkerId) -> None:
        lease = self.both(lambda store: store.claim_task(task_id, worker, LEASE))
        if lease is not None:
            self.task_leases.append(lease)

    @rule(
        pick=PICKS,
        stale=STALE,
        shapes=st.lists(
            st.tuples(st.sampled_from(Effect), st.integers(1, 3), st.lists(PICKS, max_size=2)),
            max_size=3,
        ),
        broken=st.sampled_from([None] * 6 + ["name", "need"]),
    )
    def plan(
        self,
        pick: int,
        stale: bool,
        shapes: list[tuple[Effect, int, list[int]]],
        broken: str | None,
    ) -> None:
        lease = self.task_lease(pick, stale)
        task = self.stores[0].task(lease.task.id)
        if not stale and (task.status, task.token) != (TaskStatus.RUNNING, lease.token):
            return
        known = [step.id for step in self.stores[0].steps(lease.task.id)]
        news: list[NewStep] = []
        for effect, cap, picks in shapes:
            needs = {known[pick % len(known)] for pick in picks} if known else set()
            news.append(self.a_new_step(effect, cap, tuple(sorted(needs))))
            known.append(news[-1].id)
        if broken == "name":
            news.append(new_step("not a name", self.number()))
        if broken == "need":
            unknown = StepId(identity("step", 0))
            news.append(new_step("needs-nobody", self.number(), needs=(unknown,)))
        self.plan_both(lease, news)

    def a_new_step(self, effect: Effect, cap: int, needs: tuple[StepId, ...]) -> NewStep:
        number = self.number()
        values = {"effect": effect, "max_attempts": cap, "needs": needs, "deadline": 40.0}
        return new_step(f"step-{number}", number, **values)

    def plan_both(self, lease: TaskLease, news: list[NewStep]) -> None:
        planned = self.both(lambda store: store.plan(lease, news))
        self.step_ids.extend(step.id for step in planned or [])

    @rule(pick=PICKS, stale=STALE, how=st.sampled_from(ADVANCE), back=st.integers(0, 6))
    def advance(self, pick: int, stale: bool, how: str, back: int) -> None:
        lease, number = self.task_lease(pick, stale), self.number()
        seen = self.stores[0].task(lease.task.id).last_seq - back
        failed, result = failure(number=number), payload(number=number)
        acts: dict[str, Callable[[TaskStore], Any]] = {
            "leave": lambda store: store.leave(lease, seen),
            "release": lambda store: store.release_task(lease),
            "fail": lambda store: store.fail_task(lease, failed, float(back)),
            "give up": lambda store: store.fail_task(lease, failed, None),
            "block": lambda store: store.block_task(lease, failed),
            "finish": lambda store: store.finish_task(lease, result),
            "reopen": lambda store: store.reopen_task(lease.task.id, "kim", "again"),
        }
        self.both(acts[how])

    # -- steps -------------------------------------------------------------------------------
    def claim_step(self, pick: int, worker: WorkerId, anything: bool) -> None:
        due = self.stores[0].due().steps
        among = self.step_ids if anything or not due else due
        step_id = among[pick % len(among)]
        lease = self.both(lambda store: store.claim_step(step_id, worker, LEASE))
        if lease is not None:
            self.step_leases.append(lease)

    @rule(
        pick=PICKS,
        stale=STALE,
        how=st.sampled_from(ATTEMPT),
        worker=WORKERS,
        delay=st.sampled_from([0.0, 3.0, 20.0]),
    )
    def attempt(self, pick: int, stale: bool, how: str, worker: WorkerId, delay: float) -> None:
        if how == "claim":
            self.claim_step(pick, worker, stale)
            return
        lease, number = self.step_lease(pick, stale), self.number()
        if lease is None:
            return
        failed, kept = failure(number=number), self.a_result(lease, number)
        acts: dict[str, Callable[[TaskStore], Any]] = {
            "mark": lambda store: store.mark(lease, kept),
            "finish": lambda store: store.finish(lease, kept),
            "retry": lambda store: store.retry(lease, failed, delay),
            "fail": lambda store: store.fail(lease, failed),
            "block": lambda store: store.block(lease, failed),
            "release": lambda store: store.release(lease),
            "late": lambda store: store.keep_late(lease, kept),
            "requeue": lambda store: store.requeue(lease.step.id, "kim", "again"),
        }
        self.both(acts[how])

    def a_result(self, lease: StepLease, number: int) -> NewArtifact:
        """Return what the step was marked with, else a new result made of the newest one."""
        marked = self.stores[0].step(lease.step.id).artifact_id
        if marked is not None and self.is_current(lease):
            return NewArtifact(self.stores[0].artifact(marked))
        known = [found for found in self.recorded.values() if found is not None]
        return payload(number=number, sources=tuple(known[-1:]))

    # -- time, death, recovery ---------------------------------------------------------------
    @rule(worker=WORKERS, what=st.sampled_from(SURROUNDINGS))
    def surroundings(self, worker: WorkerId, what: float | str) -> None:
        if what == "renews":
            self.both(lambda store: store.renew(worker, LEASE, self.step_ids, self.task_ids))
        elif what == "dies":
            self.dead.add(worker)
        elif what == "lives":
            self.dead.discard(worker)
        elif isinstance(what, float) and what < 0:
            self.clock.set_back(-what)
        elif isinstance(what, float):
            self.clock.advance(what)

    @rule(
        pick=PICKS,
        how=st.sampled_from(["look", "act", "sweep", "crash", "crash"]),
        intact=st.booleans(),
        marks=st.booleans(),
    )
    def recovery(self, pick: int, how: str, intact: bool, marks: bool) -> None:
        """Look for orphans, act on what was seen then or earlier, or both at once."""
        crashed = self.crash(pick, marks) if how == "crash" else set()
        found = [] if how == "act" else self.both(lambda store: store.orphans(self.dead))
        self.looked_at += found
        if how == "act" and self.looked_at:
            self.recover_one(self.looked_at[-1 - pick % min(len(self.looked_at), 3)], intact)
        if how in {"sweep", "crash"}:
            self.both(lambda store: store.recover_tasks(self.dead))
            for step in found:
                self.recover_one(step, intact)
        self.dead -= crashed

    def crash(self, pick: int, marks: bool) -> set[WorkerId]:
        """Let the holder of a step die, perhaps just after it kept its result."""
        lease = self.step_lease(pick, stale=False)
        if lease is None:
            return set()
        if marks:
            kept = self.a_result(lease, self.number())
            self.both(lambda store: store.mark(lease, kept))
        crashed = {lease.worker} - self.dead
        self.dead |= crashed
        return crashed


@pytest.mark.slow
@pytest.mark.timeout(600)  # passing takes seconds; telling the shortest way to a fault may not
class TestStoreMachine(StoreMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=50, stateful_step_count=40, report_multiple_bugs=False)
