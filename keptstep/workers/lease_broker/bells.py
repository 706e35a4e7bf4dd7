"""The script's verbs as calls to a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from keptstep.models.ids import StepId
from keptstep.workers.lease_broker.naming import home_name
from keptstep.workers.lease_broker.script import LUA, Call, Layout, Op
from keptstep.workers.lease_broker.server import connect

if TYPE_CHECKING:
    import redis


@dataclass(frozen=True, slots=True)
class Taken:
    """What one look for messages gave."""

    messages: list[tuple[str, str]]  #: tool and the 32 digits of the step
    refused: int  #: what was no message and is gone
    wait: float | None  #: seconds until one more may be there; ``None``: not before a ring


class Bells:
    """One worker's view of a home's messages in Redis. Every verb may be repeated.

    Raises ``redis.RedisError`` wherever the server does not do what it is asked.
    """

    def __init__(self, client: redis.Redis, layout: Layout, worker: str, lease: float) -> None:
        self._client = client
        self._layout = layout
        self._worker = worker
        self._lease = lease
        self._script = client.register_script(LUA)
        self._first = 0

    def tell(self, ops: Iterable[Op]) -> None:
        """Carry out ops in their order."""
        self._call(self._layout.tell(self._worker, self._lease, ops))

    def take(self, tools: Sequence[str], free: int) -> Taken:
        """Take up to ``free`` messages of these tools; another tool is the first each time."""
        if not tools:
            return Taken([], 0, None)
        self._first += 1
        call = self._layout.take(self._worker, self._lease, tools, free, self._first)
        wait, refused, *found = self._call(call)
        pairs = zip(found[::2], found[1::2], strict=True)
        messages = [(tools[int(number) - 1], digits.decode()) for number, digits in pairs]
        return Taken(messages, refused, None if wait < 0 else wait / 1000)

    def extend(self, held: Iterable[tuple[StepId, str]]) -> int:
        """Keep the messages of these steps from others for another lease.

        Returns how many of them are still this worker's.
        """
        return int(self._call(self._layout.extend(self._worker, self._lease, held)))

    def wait(self, tools: Sequence[str], seconds: float) -> None:
        """Wait until one of the tools is rung, at most so long."""
        bells = [self._layout.bell(tool) for tool in tools]
        self._client.blpop(bells, timeout=seconds)

    def ping(self) -> None:
        """Ask whether the server runs scripts."""
        self.tell(())

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    @classmethod
    def open(cls, url: str, home: Path, worker: str, lease: float) -> Self:
        """Connect to the messages of a home, for a process that extends those of ``worker``."""
        return cls(connect(url), Layout(home_name(home)), worker, lease)

    def _call(self, call: Call) -> Any:
        return self._script(call.keys, call.args)
