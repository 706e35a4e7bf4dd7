"""The Lua script and the layout of its keys: plain data, so that any process can build a call.

Nothing here talks to Redis or needs its driver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from keptstep.models.ids import StepId

#: The script. Every key it touches is among its KEYS.
LUA = Path(__file__).with_name("script.lua").read_text(encoding="utf-8")

#: Raised when messages or keys change their meaning: two versions never read each other's.
_LAYOUT = 1


class Call(NamedTuple):
    """One call of the script."""

    keys: list[str]
    args: list[str | int]


class Op(NamedTuple):
    """One thing to tell Redis.

    ``what`` is ``ring`` (the step is ready), ``done`` (its message is dealt with), ``back`` (it
    is to be taken again), each with the step's tool; or ``news`` of the task with that id.
    ``digits`` are the 32 of the id.
    """

    what: str
    digits: str
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The keys of one home. They share a hash tag, so a cluster keeps them on one node."""

    home: str  #: the home's own name, see ``home_name``

    @property
    def channel(self) -> str:
        """Where news is published: who says it, a space, the 32 digits of the task's id."""
        return f"{self._prefix}:news"

    @property
    def refused(self) -> str:
        """A hash that counts what was thrown away: ``malformed``."""
        return f"{self._prefix}:refused"

    def messages(self, tool: str) -> str:
        """Return the sorted set of a tool's messages."""
        return f"{self._prefix}:tool:{tool}"

    def bell(self, tool: str) -> str:
        """Return the list that holds one element while messages of a tool wait."""
        return f"{self._prefix}:bell:{tool}"

    def tell(self, worker: str, lease: float, ops: Iterable[Op]) -> Call:
        """Return the call that carries out ``ops`` in their order; ``lease`` in seconds."""
        tools: dict[str, int] = {}
        args: list[str | int] = ["tell", worker, _milliseconds(lease)]
        for op in ops:
            news = op.what == "news"
            place = self.channel if news else tools.setdefault(op.tool, len(tools) + 1)
            args += [op.what, place, op.digits]
        return Call(self._keys(tools), args)

    def take(
        self, worker: str, lease: float, tools: Collection[str], free: int, first: int
    ) -> Call:
        """Return the call that takes up to ``free`` messages of these tools, from the ``first``
        one on in turn.

        It answers the milliseconds until there may be one more (-1: not before somebody rings),
        how many were refused, and then tool number (from 1) and id of each.
        """
        args: list[str | int] = ["take", worker, _milliseconds(lease), free, first]
        return Call(self._keys(tools), args)

    def extend(self, worker: str, lease: float, held: Iterable[tuple[StepId, str]]) -> Call:
        """Return the call that keeps the messages of these steps (id, tool) from everybody but
        ``worker`` for another ``lease`` seconds; it answers how many are still that worker's.
        """
        tools: dict[str, int] = {}
        args: list[str | int] = ["extend", worker, _milliseconds(lease)]
        for step_id, tool in held:
            args += [tools.setdefault(tool, len(tools) + 1), step_id.hex()]
        return Call(self._keys(tools), args)

    @property
    def _prefix(self) -> str:
        return f"keptstep{_LAYOUT}:{{{self.home}}}"

    def _keys(self, tools: Iterable[str]) -> list[str]:
        keys = [f"{self._prefix}:owners", self.refused]
        for tool in tools:
            keys += [self.messages(tool), self.bell(tool)]
        return keys


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
