"""Two task stores side by side under random work, death and recovery: they answer alike.

Whatever one store answers or refuses the other answers or refuses too, and after each move all
that can be read from both is the same. What has to hold in every store at every moment is
checked beside it, and at the end, when the faults stop, all work comes to an end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from keptstep.models.artifacts import Effect
from keptstep.models.decisions import Verdict
from keptstep.models.ids import ConversationId, StepId, TaskId, WorkerId
from keptstep.models.records import NewArtifact, NewStep, Ruling, StepLease, TaskLease
from keptstep.models.states import StepStatus
from keptstep.testing.builders import failure, identity, new_step, new_task, payload
from keptstep.testing.conformance_base import LEASE
from keptstep.workflows.ports import TaskStore
from tests.model.side_by_side import SideBySide

MOST_TASKS = 3
WORKERS = [WorkerId(f"worker-{number}") for number in range(3)]

#: Every move and how often it comes; one rule makes them all, so that they come mixed.
STEP_MOVES = {"claim": 3, "finish": 3, "mark": 2, "retry": 2} | dict.fromkeys(
    ["fail", "block", "release", "late"], 1
)
TASK_MOVES = {"leave": 3, "fail-task": 2} | dict.fromkeys(
    ["advance", "release-task", "give-up-task", "block-task", "finish-task"], 1
)
RECOVERIES = {"look": 2, "act": 3, "sweep": 2, "crash": 3}
OTHER_MOVES = {"plan": 5, "renew": 2, "requeue": 2, "settle": 2} | dict.fromkeys(
    ["submit", "die", "live", "reopen", "pause", "unpause"], 1
)
TIMES = [-30.0, -1.0, 1.0, 5.0, LEASE, 50.0]
MOVES = [
    *TIMES,
    *(
        move
        for move, times in (STEP_MOVES | TASK_MOVES | RECOVERIES | OTHER_MOVES).items()
        for _ in range(times)
    ),
]


class StoreMachine(SideBySide):
    @initialize(
        effects=st.lists(st.sampled_from(Effect), min_size=7, max_size=7),
        caps=st.lists(st.integers(1, 3), min_size=7, max_size=7),
        waits=st.booleans(),
    )
    def begin(self, effects: list[Effect], caps: list[int], waits: bool) -> None:
        """Begin with a plan: three independent steps, three behind them, one behind those."""
        self.submit(None, conversation=1)
        self.claim_task(self.task_ids[0], WORKERS[0])
        places: tuple[tuple[int, ...], ...] = ((), (), (), (0,), (0, 1), (2,), (3, 4))
        news: list[NewStep] = []
        for effect, cap, needs in zip(effects, caps, places, strict=True):
            news.append(self.a_new_step(effect, cap, tuple(news[need].id for need in needs)))
        self.plan_both(self.task_leases[0], news)
        if waits:
            self.both(lambda store: store.leave(self.task_leases[0], 99))

    @rule(
        move=st.sampled_from(MOVES),
        pick=st.integers(0, 10_000),
        stale=st.sampled_from([False] * 4 + [True]),
        worker=st.sampled_from(WORKERS),
        size=st.integers(0, 6),
    )
    def move(self, move: float | str, pick: int, stale: bool, worker: WorkerId, size: int) -> None:
        if isinstance(move, float):
            (self.clock.advance if move > 0 else self.clock.set_back)(abs(move))
        elif move == "claim":
            self.claim_step(pick, worker, anything=stale)
        elif move in STEP_MOVES:
            self.attempt(move, self.step_lease(pick, stale), size)
        elif move in TASK_MOVES:
            self.advance(move, self.task_lease(pick, stale), size)
        elif move in RECOVERIES:
            self.recovery(move, pick, intact=not stale, marks=size > 2)
        else:
            acts: dict[str, Callable[[], None]] = {
                "plan": lambda: self.plan(pick, stale, size),
                "submit": lambda: self.submit("monday" if stale else None, 1 + size % 2),
                "requeue": lambda: self.requeue(pick),
                "settle": lambda: self.settle(pick, stale, size),
                "reopen": lambda: self.reopen(pick),
                "pause": lambda: self.pause(pick, paused=True),
                "unpause": lambda: self.pause(pick, paused=False),
                "renew": lambda: self.renew(worker),
                "die": lambda: self.dead.add(worker),
                "live": lambda: self.dead.discard(worker),
            }
            acts[move]()

    # -- tasks -------------------------------------------------------------------------------
    def submit(self, key: str | None, conversation: int) -> None:
        if len(self.task_ids) >= MOST_TASKS:
            return
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

    def task_lease(self, pick: int, stale: bool) -> TaskLease | None:
        """Return a current lease, taken now if there is none, or by choice one that was lost."""
        current = [lease for lease in self.task_leases if self.is_current_task(lease)]
        if not current and not stale:
            due = self.stores[0].due().tasks
            if due:
                self.claim_task(due[pick % len(due)], WORKERS[1])
            current = [lease for lease in self.task_leases if self.is_current_task(lease)]
        lost = [lease for lease in self.task_leases if lease not in current]
        among = lost if stale else current
        return among[pick % len(among)] if among else None

    def plan(self, pick: int, stale: bool, size: int) -> None:
        """Plan up to three steps whose shapes follow from ``pick``, now and then a broken one."""
        lease = self.task_lease(pick, stale)
        if lease is None:
            return
        known = [step.id for step in self.stores[0].steps(lease.task.id)]
        foreign = [step_id for step_id in self.step_ids if step_id not in known]
        news: list[NewStep] = []
        for place in range(pick % 4):
            shape = pick // 4 + 7 * place
            needs = {known[shape * factor % len(known)] for factor in (3, 5)[: shape % 3] if known}
            effect = list(Effect)[shape // 3 % 3]
            news.append(self.a_new_step(effect, 1 + shape // 9 % 3, tuple(sorted(needs))))
            known.append(news[-1].id)
        if size == 0:
            news.append(new_step("not a name", self.number()))
        elif size == 1:
            need = foreign[0] if foreign else StepId(identity("step", 0))
            news.append(self.a_new_step(Effect.NONE, 1, (need,)))
        self.plan_both(lease, news)

    def a_new_step(self, effect: Effect, cap: int, needs: tuple[StepId, ...]) -> NewStep:
        number = self.number()
        deadline = 8.0 if number % 3 == 0 else 40.0
        values = {"effect": effect, "max_attempts": cap, "needs": needs, "deadline": deadline}
        return new_step(f"step-{number}", number, **values)

    def plan_both(self, lease: TaskLease, news: list[NewStep]) -> None:
        planned = self.both(lambda store: store.plan(lease, news))
        self.step_ids.extend(step.id for step in planned or [])

    def advance(self, how: str, lease: TaskLease | None, size: int) -> None:
        if lease is None:
            return
        number, seen = self.number(), self.stores[0].task(lease.task.id).last_seq - size
        failed, result = failure(number=number), payload(number=number)
        acts: dict[str, Callable[[TaskStore], Any]] = {
            "advance": lambda store: store.claim_task(lease.task.id, WORKERS[2], LEASE),
            "leave": lambda store: store.leave(lease, seen),
            "release-task": lambda store: store.release_task(lease),
            "fail-task": lambda store: store.fail_task(lease, failed, float(size)),
            "give-up-task": lambda store: store.fail_task(lease, failed, None),
            "block-task": lambda store: store.block_task(lease, failed),
            "finish-task": lambda store: store.finish_task(lease, result),
        }
        self.both(acts[how])

    # -- steps -------------------------------------------------------------------------------
    def claim_step(self, pick: int, worker: WorkerId, anything: bool) -> None:
        due = [bell.step_id for bell in self.stores[0].due().steps]
        among = self.step_ids if anything or not due else due
        step_id = among[pick % len(among)]
        lease = self.both(lambda store: store.claim_step(step_id, worker, LEASE))
        if lease is not None:
            self.step_leases.append(lease)

    def step_lease(self, pick: int, stale: bool) -> StepLease | None:
        """Return a current lease, taken now if there is none, or by choice one that was lost."""
        current = [lease for lease in self.step_leases if self.is_current(lease)]
        if not current and not stale:
            self.claim_step(pick, WORKERS[0], anything=False)
            current = [lease for lease in self.step_leases if self.is_current(lease)]
        lost = [lease for lease in self.step_leases if lease not in current]
        # Most telling is a lease on a step that somebody else now runs.
        rivals = [lease for lease in lost if self.status(lease) is StepStatus.RUNNING]
        among = (rivals or lost) if stale else current
        return among[pick % len(among)] if among else None

    def attempt(self, how: str, lease: StepLease | None, size: int) -> None:
        if lease is None:
            return
        number = self.number()
        failed, kept = failure(number=number), self.a_result(lease, number)
        acts: dict[str, Callable[[TaskStore], Any]] = {
            "mark": lambda store: store.mark(lease, kept),
            "finish": lambda store: store.finish(lease, kept),
            "retry": lambda store: store.retry(lease, failed, float(size // 3 * 5)),
            "fail": lambda store: store.fail(lease, failed),
            "block": lambda store: store.block(lease, failed),
            "release": lambda store: store.release(lease),
            "late": lambda store: store.keep_late(lease, kept),
        }
        self.both(acts[how])

    def a_result(self, lease: StepLease, number: int) -> NewArtifact:
        """Return what the step was marked with, else a new result made of the newest one."""
        marked = self.stores[0].step(lease.step.id).artifact_id
        if marked is not None and self.is_current(lease):
            return NewArtifact(self.stores[0].artifact(marked))
        known = [found for found in self.recorded.values() if found is not None]
        return payload(number=number, sources=tuple(known[-1:]))

    # -- death and recovery ------------------------------------------------------------------
    def reopen(self, pick: int) -> None:
        task_id = self.task_ids[pick % len(self.task_ids)]
        self.both(lambda store: store.reopen_task(task_id, "kim", "again"))

    def requeue(self, pick: int) -> None:
        steps = [self.stores[0].step(step_id) for step_id in self.step_ids]
        failed = [step.id for step in steps if step.status is StepStatus.FAILED]
        among = failed or self.step_ids
        self.both(lambda store: store.requeue(among[pick % len(among)], "kim", "again"))

    def pause(self, pick: int, *, paused: bool) -> None:
        tasks = [self.stores[0].task(task_id) for task_id in self.task_ids]
        among = [task for task in tasks if (task.paused_at is None) == paused] or tasks
        task_id = among[pick % len(among)].id
        if paused:
            self.both(lambda store: store.pause_task(task_id, "kim", "wait"))
        else:
            self.unpause(task_id)

    def settle(self, pick: int, stale: bool, size: int) -> None:
        """Give a verdict, by choice on how the step was found before it moved on."""
        steps = [self.stores[0].step(step_id) for step_id in self.step_ids]
        uncertain = [step for step in steps if step.status is StepStatus.UNCERTAIN]
        among = uncertain or steps
        found = among[pick % len(among)]
        if stale:
            found = replace(found, token=found.token - 1)
        verdict = list(Verdict)[size % 3]
        ruling = Ruling(verdict, "kim", "looked", payload(number=self.number()))
        self.both(lambda store: store.settle(found, ruling))

    def renew(self, worker: WorkerId) -> None:
        self.both(lambda store: store.renew(worker, LEASE, self.step_ids, self.task_ids))

    def recovery(self, how: str, pick: int, intact: bool, marks: bool) -> None:
        """Look for orphans, act on what was seen then or earlier, or both at once."""
        crashed = self.crash(pick, marks) if how == "crash" else set()
        if how == "act":
            self.act_on_an_earlier_look(pick)
        else:
            found = self.look(intact)
            if how in {"sweep", "crash"}:
                self.both(lambda store: store.recover_tasks(self.dead))
                for look in found:
                    self.carry_out(look)
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
    settings = settings(max_examples=50, stateful_step_count=70, report_multiple_bugs=False)


@pytest.mark.chaos
class TestStoreMachineForMinutes(StoreMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(TestStoreMachine.settings, max_examples=2000, derandomize=False)
