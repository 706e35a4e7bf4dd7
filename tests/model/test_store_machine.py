"""Two task stores side by side under random work, death and recovery: they answer alike.

Whatever one store answers or refuses the other answers or refuses too, and after each move all
that can be read from both is the same. What has to hold in every store at every moment is
checked beside it, and at the end, when the faults stop, all work comes to an end.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from keptstep.models.artifacts import Effect
from keptstep.models.errors import KeptstepError
from keptstep.models.ids import ArtifactId, ConversationId, StepId, TaskId, WorkerId
from keptstep.models.records import NewArtifact, NewStep, Step, StepLease, TaskLease
from keptstep.models.states import STEP_FINISHED, TASK_UNFINISHED, StepStatus
from keptstep.models.stores.memory import MemoryTaskStore
from keptstep.models.stores.sql import open_sql_store
from keptstep.testing.builders import failure, identity, new_step, new_task, payload
from keptstep.testing.clock import FakeClock
from keptstep.testing.conformance_base import LEASE, ReadOut, read_out
from keptstep.testing.invariants import check_task
from keptstep.workflows.kernel import resume_decision
from keptstep.workflows.ports import TaskStore

MAX_STEPS = 16
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

_template: list[Path] = []


def empty_database(folder: Path) -> Path:
    """Return the path of a fresh database: a copy, because migrating each time takes long."""
    if not _template:
        made = Path(tempfile.mkdtemp(), "keptstep.db")
        open_sql_store(made, clock=FakeClock()).close()
        _template.append(made)
    return Path(shutil.copy(_template[0], folder / "keptstep.db"))


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        database = empty_database(Path(self.folder.name))
        self.stores: tuple[TaskStore, ...] = (
            MemoryTaskStore(self.clock, max_steps=MAX_STEPS),
            open_sql_store(database, clock=self.clock, max_steps=MAX_STEPS),
        )
        self.numbers = itertools.count(1)
        self.dead: set[WorkerId] = set()
        self.task_ids: list[TaskId] = []
        self.step_ids: list[StepId] = []
        self.task_leases: list[TaskLease] = []
        self.step_leases: list[StepLease] = []
        self.looked_at: list[Step] = []
        self.tokens: dict[StepId, int] = {}
        self.recorded: dict[StepId, ArtifactId | None] = {}
        self.seen: dict[TaskId, ReadOut] = {}

    # -- both at once ------------------------------------------------------------------------
    def both(self, act: Callable[[TaskStore], Any]) -> Any:
        """Do the same with both stores, demand the same answer, and return it."""
        answers = [self._answer(act, store) for store in self.stores]
        assert answers[0] == answers[1], "the stores answer alike"
        return None if isinstance(answers[0], type) else answers[0]

    def _answer(self, act: Callable[[TaskStore], Any], store: TaskStore) -> Any:
        try:
            return act(store)
        except KeptstepError as refusal:
            return type(refusal)

    def number(self) -> int:
        return next(self.numbers)

    def step_lease(self, pick: int, stale: bool) -> StepLease | None:
        """Return any lease there ever was, or a current one, taken now if there is none."""
        current = [lease for lease in self.step_leases if self.is_current(lease)]
        if not current and not stale:
            self.claim_step(pick, WorkerId("worker-0"), anything=False)
            current = self.step_leases[-1:]
        among = current or self.step_leases
        return among[pick % len(among)] if among else None

    def is_current(self, lease: StepLease) -> bool:
        step = self.stores[0].step(lease.step.id)
        return step.status is StepStatus.RUNNING and step.token == lease.token

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

    @rule(pick=PICKS, how=st.sampled_from(["look", "act", "act", "sweep"]), intact=st.booleans())
    def recovery(self, pick: int, how: str, intact: bool) -> None:
        """Look for orphans, act on what was seen then or earlier, or both at once."""
        found = [] if how == "act" else self.both(lambda store: store.orphans(self.dead))
        self.looked_at += found
        if how == "act" and self.looked_at:
            self.recover_one(self.looked_at[-1 - pick % min(len(self.looked_at), 3)], intact)
        if how == "sweep":
            self.both(lambda store: store.recover_tasks(self.dead))
            for step in found:
                self.recover_one(step, intact)

    def recover_one(self, found: Step, intact: bool) -> None:
        gone = found.owner in self.dead
        now = self.clock.now()
        decision = resume_decision(found, now, holder_dead=gone, payload_intact=intact)
        self.both(lambda store: store.recover(found, decision, set(self.dead)))

    # -- what holds at every moment ----------------------------------------------------------
    @invariant()
    def what_can_be_read_is_the_same(self) -> None:
        for task_id in self.task_ids:
            found = read_out(self.stores[0], task_id)
            if self.seen.get(task_id) != found:
                self.seen[task_id] = found
                check_task(self.stores[0], task_id)
                self.both(partial(read_out, task_id=task_id))
                self.both(partial(self.settled, task_id=task_id))
        self.both(lambda store: store.due())
        self.both(lambda store: store.owners())

    @invariant()
    def tokens_grow_and_results_never_change(self) -> None:
        for step_id in self.step_ids:
            step = self.stores[0].step(step_id)
            assert step.token >= self.tokens.get(step_id, 0)
            self.tokens[step_id] = step.token
            if step.status is StepStatus.DONE:
                assert self.recorded.setdefault(step_id, step.artifact_id) == step.artifact_id
            else:
                assert step_id not in self.recorded, "nothing ends done"

    def settled(self, store: TaskStore, task_id: TaskId) -> tuple[int, list[Step]]:
        return store.settled(task_id, after=3)

    # -- and at the end ----------------------------------------------------------------------
    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:  # else the fault found before would be covered up
                self.all_work_comes_to_an_end()
        finally:
            for store in self.stores:
                store.close()
            self.folder.cleanup()

    def all_work_comes_to_an_end(self) -> None:
        """When faults stop, sweeps and one living worker bring every step to an end."""
        self.dead.clear()
        living = WorkerId("living")
        orphans, due = [*self.step_ids], [*self.step_ids]
        self.clock.advance(10_000.0)
        while orphans or due:
            orphans = self.both(lambda store: store.orphans([]))
            for found in orphans:
                self.recover_one(found, intact=True)
            due = self.both(lambda store: store.due()).steps
            for step_id in due:
                self.claim_and_finish(step_id, living)
        assert self.both(lambda store: store.orphans([])) == []
        assert self.both(lambda store: [read_out(store, task_id) for task_id in self.task_ids])
        assert len(self.both(lambda store: store.tasks())) == len(self.task_ids)
        for task_id in self.task_ids:
            if self.stores[0].task(task_id).status in TASK_UNFINISHED:
                self.every_step_ended_or_waits_for_a_person(task_id)

    def claim_and_finish(self, step_id: StepId, worker: WorkerId) -> None:
        lease = self.both(lambda store: store.claim_step(step_id, worker, LEASE))
        kept = payload(number=self.number())
        self.both(lambda store: store.finish(lease, kept))

    def every_step_ended_or_waits_for_a_person(self, task_id: TaskId) -> None:
        steps = {step.id: step for step in self.stores[0].steps(task_id)}
        stuck: set[StepId] = set()
        for step in steps.values():
            behind = step.status is StepStatus.PENDING and stuck & set(step.needs)
            if step.status is StepStatus.UNCERTAIN or behind:
                stuck.add(step.id)
            assert step.status in STEP_FINISHED or step.id in stuck, step


@pytest.mark.slow
@pytest.mark.timeout(600)  # passing takes seconds; telling the shortest way to a fault may not
class TestStoreMachine(StoreMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=50, stateful_step_count=40, report_multiple_bugs=False)
