"""The composition root: stores and, when started, a worker, for use in any Python program."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from types import TracebackType
from typing import Any, Self

from keptstep.config import Settings
from keptstep.models.errors import BadInput
from keptstep.models.ids import ConversationId, TaskId, WorkerId
from keptstep.models.mint import new_id
from keptstep.models.points import reach
from keptstep.models.records import NewTask
from keptstep.models.stores.artifacts_fs import FileArtifactStore
from keptstep.models.stores.clock import HostClock
from keptstep.models.stores.sql import open_sql_store
from keptstep.workers.worker import LocalWorker
from keptstep.workflows.definition import REGISTRY, Registry, Workflow, result_type
from keptstep.workflows.handle import Endings, Handle
from keptstep.workflows.inputs import Inputs
from keptstep.workflows.ports import ArtifactStore, TaskStore
from keptstep.workflows.values import arguments

log = logging.getLogger(__name__)

_MAX_KEY = 200
_ID_BYTES = 16
#: Advances in a row that may end in a crash before the task is given up. More than a function
#: may raise: a process dies for many reasons, and rarely of the function it is about to enter.
CRASHES = 10


def check_key(key: str) -> str:
    """Return an idempotency key if it can be one; raises ``BadInput``."""
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY or not key.isprintable():
        raise BadInput(f"a key is 1 to {_MAX_KEY} printable characters")
    return key


class App:
    """keptstep in one process.

    ``with App.open(home) as app`` works on what is submitted until the block ends; ``App.open``
    alone only opens the stores, to read or to submit for other workers.
    """

    def __init__(
        self, settings: Settings, store: TaskStore, artifacts: ArtifactStore, registry: Registry
    ) -> None:
        self.settings = settings
        self.store = store
        self.artifacts = artifacts
        self.registry = registry
        self._inputs = Inputs(artifacts, new_id)
        self._endings = Endings()
        self._worker: LocalWorker | None = None
        self._only: set[TaskId] | None = None

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        registry: Registry = REGISTRY,
    ) -> Self:
        """Open a home, making or migrating it where needed.

        ``home`` is a folder; by default ``KEPTSTEP_HOME`` or the platform's user data folder.
        Raises ``HomeNotWritable``, ``SchemaNewer``, ``StoreDamaged``, ``StoreBusy``.
        """
        settings = settings or Settings.load(home)
        store = open_sql_store(
            settings.database,
            clock=HostClock(),
            busy_timeout=settings.busy_timeout,
            max_steps=settings.max_steps,
        )
        try:
            artifacts = FileArtifactStore(settings.blobs, settings.max_result)
        except BaseException:
            store.close()
            raise
        return cls(settings, store, artifacts, registry)

    @property
    def worker(self) -> WorkerId | None:
        """The identity of the started worker, random per start; ``None`` before ``start``."""
        return None if self._worker is None else self._worker.id

    def start(self, only: Collection[TaskId] | None = None) -> Self:
        """Begin to work on what is due, here in this process.

        With ``only`` it works on those tasks, and on those submitted here later, and leaves all
        others to other workers: a program that ends with its own task should not have begun a
        side effect of somebody else's.
        """
        if self._worker is None:
            self._only = None if only is None else set(only)
            self._worker = LocalWorker(
                self.settings,
                self.store,
                self.artifacts,
                self.registry,
                self._endings.tell,
                self._only,
            )
            self._worker.start()
        return self

    def close(self, grace: float | None = None) -> None:
        """Stop as planned, waiting up to ``grace`` seconds for running calls; keep everything."""
        if self._worker is not None:
            self._worker.stop(self.settings.grace if grace is None else grace)
            self._worker = None
        self.store.close()

    def submit(
        self,
        workflow: Workflow[..., Any] | str,
        /,
        *,
        key: str | None = None,
        conversation: ConversationId | None = None,
        **inputs: Any,
    ) -> Handle:
        """Submit a workflow with its inputs; it is kept when this returns.

        The same ``key`` again is the same task, whatever happened in between. Raises
        ``BadInput`` for inputs that do not fit, ``KeyConflict``, ``NotFound``.
        """
        found = self.registry.workflow(workflow) if isinstance(workflow, str) else workflow
        if not isinstance(found, Workflow):
            raise BadInput(
                f"{getattr(found, '__name__', found)!s} is no workflow: make it one with @workflow"
            )
        found.signature.check(f"workflow {found.name}", inputs)
        if key is not None:
            check_key(key)
        if conversation is not None and not (
            isinstance(conversation, bytes) and len(conversation) == _ID_BYTES
        ):
            raise BadInput("a conversation is an id of 16 bytes, as a task's conversation_id")
        given = arguments(inputs)
        kept = self._inputs.keep(given, as_file=bool(given.refs))
        new = NewTask(
            id=TaskId(new_id()),
            conversation_id=conversation or ConversationId(new_id()),
            workflow=found.name,
            input=kept.literal,
            input_artifact=kept.artifact,
            input_sha=given.digest(found.name),
            key=key,
            max_attempts=max(found.attempts, CRASHES),
        )
        reach("submit.before")
        task, created = self.store.submit(new)
        reach("submit.committed")
        if self._worker is not None:
            if self._only is not None:
                self._only.add(task.id)
            self._worker.ring_task(task.id)
        return self._handle(task.id, created, found)

    def handle(self, task_id: TaskId) -> Handle:
        """Return the handle of a task kept earlier; raises ``NotFound``."""
        task = self.store.task(task_id)
        return self._handle(task_id, False, self.registry.workflows.get(task.workflow))

    def _handle(
        self, task_id: TaskId, created: bool, workflow: Workflow[..., Any] | None
    ) -> Handle:
        returns = result_type(workflow.signature.returns) if workflow is not None else None
        return Handle(
            task_id, self.store, self.artifacts, self._endings, created=created, returns=returns
        )

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
