"""The ports: what the use cases need from the world, as protocols.

Three around the kernel (R12): ``TaskStore`` with the lease and the events inside, the
``ArtifactStore`` and the ``ToolRunner``. Two of the surroundings: ``Doorbell`` and ``Clock``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, Protocol

from keptstep.models.artifacts import Blob
from keptstep.models.ids import Sha256, StepId, TaskId
from keptstep.models.records import Due, Failure, Lost, NewArtifact, Settled, StepLease
from keptstep.workflows.task_store import TaskStore

__all__ = [
    "ArtifactStore",
    "CallFailed",
    "Clock",
    "Doorbell",
    "Due",
    "Lost",
    "Settled",
    "TaskStore",
    "ToolRunner",
]


class Clock(Protocol):
    """The store's time."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...


class ArtifactStore(Protocol):
    """Payloads as files named by their hash: kept once, checked on every read."""

    def put(self, chunks: Iterable[bytes], limit: int | None = None) -> Blob:
        """Keep a payload: temporary file, sync, rename, sync of the directory.

        Streams: memory does not grow with the size. Durable when it returns. Raises
        ``TooLarge`` above ``limit`` bytes, with nothing left behind.
        """
        ...

    def open(self, sha: Sha256) -> BinaryIO:
        """Open a payload whose bytes were checked against the hash first.

        Raises ``ArtifactMissing`` or ``ArtifactCorrupt``; never gives wrong bytes.
        """
        ...

    def read(self, sha: Sha256) -> bytes:
        """Return the checked bytes; raises as ``open``."""
        ...

    def intact(self, sha: Sha256) -> bool:
        """Whether the payload is there and matches its hash."""
        ...

    def shas(self) -> Iterable[Sha256]:
        """Yield the hash of every payload held."""
        ...


class ToolRunner(Protocol):
    """Runs the call of a claimed step and keeps what it returns."""

    def run(self, lease: StepLease) -> NewArtifact:
        """Call the tool within the step's deadline and keep its result in the artifact store.

        Raises ``CallFailed`` when no result could be kept.
        """
        ...


class CallFailed(Exception):
    """A call left no result: how it ended, the policy's wait in seconds, and the description."""

    def __init__(self, end: str, wait: float | None, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.end = end
        self.wait = wait
        self.failure = failure


class Doorbell(Protocol):
    """Tells workers that there may be work. May lose, repeat or reorder rings without harm."""

    def ring_step(self, step_id: StepId, tool: str) -> None:
        """A step may be ready."""
        ...

    def ring_task(self, task_id: TaskId) -> None:
        """A task's advance may be due, or its holder may have news."""
        ...
