"""How an advance ended, written down: a result kept, a failure with its reason, a block."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

from keptstep.models.artifacts import ArtifactClass, ArtifactRef
from keptstep.models.canonical import Path
from keptstep.models.errors import (
    BadInput,
    LeaseLost,
    NotFound,
    PlanDifference,
    StepFailed,
    StoreError,
)
from keptstep.models.ids import ArtifactId
from keptstep.models.records import Failure, Kept, NewArtifact, Task
from keptstep.workflows.definition import Workflow
from keptstep.workflows.failures import FailureKeeper
from keptstep.workflows.live import LiveRun, Services
from keptstep.workflows.retry import RetryPolicy
from keptstep.workflows.values import Result, encode_value, put_back, shape


class FunctionExit(Exception):
    """A workflow function ended in a way that a loop cannot pass on: an exit, a cancellation."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What the function returned: any value, also an exception object."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """What the function raised."""

    error: BaseException


class Outcomes:
    """Records how the function of a task ended."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._failures = FailureKeeper(services.artifacts, services.new_id)

    def arguments(self, live: LiveRun, workflow: Workflow[..., Any]) -> dict[str, Any]:
        """Return the function's arguments, shaped as its annotations say."""
        task = live.lease.task
        kept = self._services.inputs.read(task, self._services.store.artifact)
        store, artifacts = self._services.store, self._services.artifacts
        places: list[tuple[Path, object]] = [
            (ref.path, Result(store.artifact(ref.id), artifacts, None, live.saw(ref.id)))
            for ref in kept.refs
        ]
        values = put_back(kept.values, places)
        types = workflow.signature.types
        return {
            name: shape(value, types.get(name), f"input {name}")
            if not any(ref.path[0] == name for ref in kept.refs)
            else value
            for name, value in values.items()
        }

    def record(self, live: LiveRun, outcome: Returned | Raised) -> Task:
        """Write down what the function returned or raised.

        Raises ``LeaseLost`` and ``StoreError``: then nothing was written.
        """
        if live.fatal is not None:
            return self._failed(live, live.fatal)
        if isinstance(outcome, Raised):
            return self._failed(live, outcome.error)
        try:
            result = self._kept(live, outcome.value)
        except StoreError:
            raise
        except Exception as unkeepable:  # also what a value raises when it is asked for its parts
            return self._failed(live, unkeepable)
        return self._services.store.finish_task(live.lease, result)

    def _kept(self, live: LiveRun, value: object) -> NewArtifact:
        if isinstance(value, Result):
            return NewArtifact(value.ref)
        data, media_type = encode_value(value)
        blob = self._services.artifacts.put([data])
        sources = live.sources()
        kind = ArtifactClass.RENDER if sources else ArtifactClass.SNAPSHOT
        identity = ArtifactId(self._services.new_id())
        return NewArtifact(ArtifactRef(identity, blob.sha, kind, media_type, blob.size), sources)

    def _failed(self, live: LiveRun, error: BaseException) -> Task:
        if isinstance(error, LeaseLost | StoreError):
            raise error
        store, lease = self._services.store, live.lease
        if isinstance(error, PlanDifference):
            return store.block_task(lease, self._failures.keep(str(error), error, error.diff))
        if isinstance(error, StepFailed):
            # Its text is with the step; the reason is ours and holds no payload.
            return store.fail_task(lease, Failure(str(error), Kept("StepFailed")), None)
        text = "".join(traceback.format_exception(error))
        name = type(error).__name__
        failure = self._failures.keep(f"the workflow function raised {name}", error, text)
        if isinstance(error, BadInput | TypeError | AttributeError | NameError | SyntaxError):
            # A mistake in the code: trying again in a second would find it there again.
            return store.fail_task(lease, failure, None)
        if isinstance(error, NotFound):  # a tool that another worker may know
            return store.block_task(lease, failure)
        policy = RetryPolicy(self._services.registry.workflow(lease.task.workflow).attempts)
        # The row's count: progress in between sets it back, and the lease's copy is old.
        attempts = store.task(lease.task.id).attempts
        return store.fail_task(lease, failure, policy.wait_after(attempts, error, 0.0))
