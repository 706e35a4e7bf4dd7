"""Two task stores that are asked the same: plumbing, and what has to hold at every moment."""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis.stateful import RuleBasedStateMachine, invariant

from keptstep.models.decisions import Decision
from keptstep.models.errors import KeptstepError
from keptstep.models.ids import ArtifactId, StepId, TaskId, WorkerId
from keptstep.models.records import Step, StepLease, TaskLease
from keptstep.models.states import STEP_FINISHED, TASK_UNFINISHED, StepStatus, TaskStatus
from keptstep.models.stores.memory import MemoryTaskStore
from keptstep.models.stores.sql import open_sql_store
from keptstep.testing.builders import payload
from keptstep.testing.clock import FakeClock
from keptstep.testing.conformance_base import LEASE, ReadOut, read_out
from keptstep.testing.invariants import check_task
from keptstep.workflows.kernel import resume_decision
from keptstep.workflows.ports import TaskStore

MAX_STEPS = 16


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "keptstep.db")
        open_sql_store(database, clock=FakeClock()).close()
        return database.read_bytes()


def empty_database(folder: Path) -> Path:
    """Return the path of a fresh database: a copy, because migrating each time takes long."""
    database = folder / "keptstep.db"
    database.write_bytes(_migrated())
    return database


class Look(NamedTuple):
    """What a sweeper saw, what it decided, and whom it knew to be dead."""

    found: Step
    decision: Decision
    dead: frozenset[WorkerId]


class SideBySide(RuleBasedStateMachine):
    """A memory store and a SQL store that do everything together."""

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
        self.looks: list[Look] = []
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

    def is_current(self, lease: StepLease) -> bool:
        step = self.stores[0].step(lease.step.id)
        return step.status is StepStatus.RUNNING and step.token == lease.token

    def is_current_task(self, lease: TaskLease) -> bool:
        task = self.stores[0].task(lease.task.id)
        return task.status is TaskStatus.RUNNING and task.token == lease.token

    def status(self, lease: StepLease) -> StepStatus:
        return self.stores[0].step(lease.step.id).status

    # -- recovery, with any time between the look and the act ---------------------------------
    def look(self, intact: bool) -> list[Look]:
        """Return what a sweeper sees and decides now."""
        dead, now = frozenset(self.dead), self.clock.now()
        found = [
            Look(
                step,
                resume_decision(step, now, holder_dead=step.owner in dead, payload_intact=intact),
                dead,
            )
            for step in self.both(lambda store: store.orphans(dead))
        ]
        self.looks += found
        return found

    def carry_out(self, look: Look) -> None:
        self.both(lambda store: store.recover(look.found, look.decision, look.dead))

    def act_on_an_earlier_look(self, pick: int) -> None:
        if self.looks:
            self.carry_out(self.looks[-1 - pick % min(len(self.looks), 4)])

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

    def end_pauses(self) -> None:
        """Let every task go on: a pause ends only by a person."""
        for task in [self.stores[0].task(task_id) for task_id in self.task_ids]:
            if task.paused_at is not None:
                self.unpause(task.id)

    def unpause(self, task_id: TaskId) -> None:
        self.both(lambda store: store.unpause_task(task_id, "kim", "go"))

    def all_work_comes_to_an_end(self) -> None:
        """When faults stop, sweeps and one living worker bring every step to an end."""
        self.dead.clear()
        living = WorkerId("living")
        self.clock.advance(10_000.0)
        self.end_pauses()
        orphans, due = self.look(intact=True), self.step_ids
        while orphans or due:
            orphans = self.look(intact=True)
            for found in orphans:
                self.carry_out(found)
            due = self.both(lambda store: store.due()).steps
            for bell in due:
                self.claim_and_finish(bell.step_id, living)
        assert self.both(lambda store: store.orphans([])) == []
        for store in self.stores:
            for task_id in self.task_ids:
                check_task(store, task_id)
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
