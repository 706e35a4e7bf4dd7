"""One task's function in memory: what it asked for, what is known, what it waits for.

Everything here runs in the coordinator's event loop; the rows stay the truth. Requests of one
turn of the loop are planned together, so that a join over a thousand steps is one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from keptstep.models.artifacts import ArtifactClass
from keptstep.models.canonical import Arguments
from keptstep.models.errors import BadInput, DuplicateStep, PlanDifference, StepFailed
from keptstep.models.ids import ArtifactId, Sha256, StepId
from keptstep.models.points import reach
from keptstep.models.records import NewStep, Step, TaskLease
from keptstep.models.states import STEP_FINISHED, StepStatus
from keptstep.workflows.definition import NAME, Registry, Tool, result_type
from keptstep.workflows.inputs import Inputs, difference
from keptstep.workflows.ports import ArtifactStore, Doorbell, TaskStore
from keptstep.workflows.values import Result, arguments


class Blocking(Protocol):
    """Runs a blocking call outside the event loop."""

    def __call__(self, work: Callable[[], Any]) -> Awaitable[Any]:
        """Return what ``work`` returns."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What a live run needs of the world."""

    store: TaskStore
    artifacts: ArtifactStore
    registry: Registry
    doorbell: Doorbell
    inputs: Inputs
    new_id: Callable[[], bytes]
    blocking: Blocking


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    tool: Tool[..., Any]
    arguments: Arguments
    digest: Sha256
    as_file: bool


class LiveRun:
    """The memory of one advance."""

    def __init__(self, lease: TaskLease, services: Services, known: list[Step]) -> None:
        self.lease = lease
        self.task_id = lease.task.id
        self.fatal: BaseException | None = None  #: ends the run whatever the function catches
        self.loaded: dict[ArtifactId, None] = {}  #: artifacts whose value the function saw
        self._services = services
        self._known = {step.name: step for step in known}
        self._asked: set[str] = set()
        self._waiting: dict[StepId, asyncio.Future[Step]] = {}
        self._listeners = 0  #: requests that are awaited now; one may be given up
        self._new: dict[str, tuple[_Wanted, asyncio.Future[Step]]] = {}
        self._flush: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def waits(self) -> bool:
        """Whether the function waits for steps and nothing is being planned."""
        return self._listeners > 0 and not self._new and self._flush is None

    # -- what the function asks --------------------------------------------------------------
    async def request(
        self, name: str, tool: Tool[..., Any] | str, inputs: dict[str, Any]
    ) -> Result[Any]:
        """Return the result of a step, planning it if its name is new."""
        if self._closed:
            raise asyncio.CancelledError("the run is over: it plans nothing any more")
        if self.fatal is not None:
            raise self.fatal
        found = self._services.registry.tool(tool) if isinstance(tool, str) else tool
        wanted = self._wanted(name, found, inputs)
        known = self._known.get(name)
        if known is None:
            step = await self._plan(wanted)
        else:
            await self._same(known, wanted)
            step = known if known.status in STEP_FINISHED else await self._wait(known)
        return self._answer(step, found)

    def _wanted(self, name: str, tool: Tool[..., Any], inputs: dict[str, Any]) -> _Wanted:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BadInput(
                f"{str(name)[:40]!r} cannot be a step's name: use 1 to 128 of A-Z a-z 0-9 . _ : -"
            )
        if name in self._asked:
            raise DuplicateStep(f"the workflow asks for step {name} twice: give each its own name")
        tool.signature.check(f"tool {tool.name}", inputs)
        given = arguments(inputs)
        digest = given.digest(tool.name)
        self._asked.add(name)
        # What the function computed after it saw a result may hold part of that result.
        lineage = tool.artifact_class is ArtifactClass.RENDER and not given.refs
        return _Wanted(name, tool, given, digest, as_file=bool(self.loaded) or lineage)

    async def _same(self, known: Step, wanted: _Wanted) -> None:
        """Raise ``PlanDifference`` if a known step is asked for in another way."""
        tool = wanted.tool.name
        if (known.tool, known.input_sha) == (tool, wanted.digest):
            return
        read = partial(self._services.inputs.read, known, self._services.store.artifact)
        was = await self._services.blocking(read)
        line, diff = difference(known, was, tool, wanted.arguments)
        self.fatal = PlanDifference(line, diff)
        raise self.fatal

    async def _wait(self, step: Step) -> Step:
        future = self._waiting.get(step.id)
        if future is None:
            future = asyncio.get_running_loop().create_future()
            self._waiting[step.id] = future
        return await self._until(future)

    async def _plan(self, wanted: _Wanted) -> Step:
        future: asyncio.Future[Step] = asyncio.get_running_loop().create_future()
        self._new[wanted.name] = (wanted, future)
        self._flush_soon()
        return await self._until(future)

    async def _until(self, future: asyncio.Future[Step]) -> Step:
        self._listeners += 1
        try:
            # Shielded: a request that is given up takes nothing from others that wait for it.
            return await asyncio.shield(future)
        finally:
            self._listeners -= 1

    def _answer(self, step: Step, tool: Tool[..., Any]) -> Result[Any]:
        if step.status is not StepStatus.DONE or step.artifact_id is None:
            reason = step.reason or f"it is {step.status}"
            raise StepFailed(step.name, reason, partial(self._error_text, step))
        record = partial(self._services.store.artifact, step.artifact_id)
        kind = result_type(tool.signature.returns)
        return Result(record, self._services.artifacts, kind, self.saw(step.artifact_id))

    def saw(self, artifact_id: ArtifactId) -> Callable[[], None]:
        """Return what notes that the function loaded an artifact's value."""

        def note() -> None:
            self.loaded[artifact_id] = None

        return note

    def _error_text(self, step: Step) -> str:
        if step.error is None or step.error.artifact_id is None:
            return step.reason or str(step.status)
        # What an error says may quote a payload: what is made of it is kept like one.
        self.loaded[step.error.artifact_id] = None
        ref = self._services.store.artifact(step.error.artifact_id)
        return self._services.artifacts.read(ref.sha).decode("utf-8", "replace")

    # -- planning ----------------------------------------------------------------------------
    def _flush_soon(self) -> None:
        if self._flush is None:
            self._flush = asyncio.create_task(self._flush_new())

    async def _flush_new(self) -> None:
        """Plan what was asked for in this turn of the loop, in one transaction."""
        try:
            while self._new:
                batch, self._new = self._new, {}
                try:
                    await self._plan_all(batch)
                except Exception as error:
                    self._refuse(batch, error)
                    return
        finally:
            self._flush = None

    async def _plan_all(self, batch: dict[str, tuple[_Wanted, asyncio.Future[Step]]]) -> None:
        wanted = [one for one, _ in batch.values()]
        planned: list[Step] = await self._services.blocking(partial(self._write, wanted))
        for new, (_, future) in zip(planned, batch.values(), strict=True):
            # It may have been swept up, run and delivered while the plan's answer was on its way.
            step = self._known.setdefault(new.name, new)
            if step.status in STEP_FINISHED:
                _answer(future, step)
            else:
                self._waiting[step.id] = future
        reach("ring.step")
        for step in planned:
            self._services.doorbell.ring_step(step.id, step.tool)

    def _write(self, wanted: list[_Wanted]) -> list[Step]:
        reach("plan.before")
        steps = [self._new_step(one) for one in wanted]
        planned = self._services.store.plan(self.lease, steps)
        reach("plan.committed")
        return planned

    def _new_step(self, wanted: _Wanted) -> NewStep:
        tool = wanted.tool
        kept = self._services.inputs.keep(wanted.arguments, as_file=wanted.as_file)
        return NewStep(
            id=StepId(self._services.new_id()),
            name=wanted.name,
            tool=tool.name,
            artifact_class=tool.artifact_class,
            effect=tool.effect,
            input=kept.literal,
            input_artifact=kept.artifact,
            input_sha=wanted.digest,
            max_attempts=tool.retry.attempts,
            deadline=tool.deadline,
        )

    def _refuse(
        self, batch: dict[str, tuple[_Wanted, asyncio.Future[Step]]], error: BaseException
    ) -> None:
        self.fatal = self.fatal or error
        waiting = [*self._waiting.values(), *(future for _, future in batch.values())]
        waiting += [future for _, future in self._new.values()]
        self._new = {}
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # the function may have stopped waiting: that is no loss

    def close(self) -> None:
        """Take no more requests and let go of who waits: the run is over."""
        self._closed = True
        waiting = [*self._waiting.values(), *(future for _, future in self._new.values())]
        self._waiting, self._new = {}, {}
        for future in waiting:
            future.cancel()

    # -- news --------------------------------------------------------------------------------
    def deliver(self, finished: list[Step]) -> None:
        """Answer who waits for these steps."""
        for step in finished:
            self._known[step.name] = step
            future = self._waiting.pop(step.id, None)
            if future is not None:
                _answer(future, step)

    def sources(self) -> tuple[ArtifactId, ...]:
        """Return what the function's own result was derived from."""
        return tuple(self.loaded)


def _answer(future: asyncio.Future[Step], step: Step) -> None:
    if not future.done():
        future.set_result(step)
