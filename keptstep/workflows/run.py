"""What a workflow function is given: named steps, joins, and values that stay the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar, overload
from uuid import UUID

from keptstep.models.errors import BadInput, StepFailed
from keptstep.models.ids import TaskId
from keptstep.workflows.definition import Tool
from keptstep.workflows.values import Result

R = TypeVar("R")


class Requests(Protocol):
    """Where a run's requests for steps go: the coordinator's memory of one task."""

    task_id: TaskId

    async def request(
        self, name: str, tool: Tool[..., Any] | str, inputs: dict[str, Any]
    ) -> Result[Any]:
        """Return the step's result, now or when it is there; raises ``StepFailed``."""
        ...


class Run:
    """The handle of one run of a workflow.

    A step is found by its name, never by its place: code between steps may do anything and run
    many times, as long as names and inputs follow from arguments and results.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    @property
    def task_id(self) -> TaskId:
        """The task this run belongs to."""
        return self._requests.task_id

    async def step(self, name: str, tool: Tool[..., Any] | str, /, **inputs: Any) -> Result[Any]:
        """Run ``tool`` as the step ``name``, or return what it left when it ran before.

        ``inputs`` are the tool's arguments: plain values, or results (``hits`` or ``hits.ref``)
        which are passed on without being loaded. Raises ``StepFailed`` when the step is failed
        for good, ``BadInput`` for a name or input that cannot be taken.
        """
        return await self._requests.request(name, tool, inputs)

    @overload
    async def gather(
        self,
        *steps: Awaitable[R] | Iterable[Awaitable[R]],
        failures: Literal["raise"] = ...,
    ) -> list[R]: ...
    @overload
    async def gather(
        self,
        *steps: Awaitable[R] | Iterable[Awaitable[R]],
        failures: Literal["return"],
    ) -> list[R | StepFailed]: ...
    async def gather(
        self,
        *steps: Awaitable[R] | Iterable[Awaitable[R]],
        failures: Literal["raise", "return"] = "raise",
    ) -> Any:
        """Wait for all of the steps and return their results in the order given.

        Takes steps one by one or iterables of them. With ``failures="return"`` a failed step's
        ``StepFailed`` stands in its place; otherwise the first one in order is raised, after all
        have ended.
        """
        if failures not in ("raise", "return"):
            raise BadInput(f"failures is 'raise' or 'return', not {failures!r}")
        waited = [one for given in steps for one in _flat(given)]
        ended = await asyncio.gather(*waited, return_exceptions=True)
        for one in ended:
            kept = failures == "return" and isinstance(one, StepFailed)
            if isinstance(one, BaseException) and not kept:
                raise one
        return list(ended)

    async def now(self, name: str = "now") -> datetime:
        """Return the time of the first call under this name, whenever it is asked again."""
        result: Result[str] = await self._requests.request(name, "keptstep.now", {})
        return datetime.fromisoformat(result.value)

    async def uuid(self, name: str = "uuid") -> UUID:
        """Return a random UUID that stays the same for this name."""
        result: Result[str] = await self._requests.request(name, "keptstep.uuid", {})
        return UUID(result.value)

    async def random(self, name: str = "random") -> float:
        """Return a random number of [0, 1) that stays the same for this name."""
        result: Result[float] = await self._requests.request(name, "keptstep.random", {})
        return result.value


def _flat(given: Any) -> list[Awaitable[Any]]:
    if isinstance(given, Awaitable):
        return [given]
    return list(given)
