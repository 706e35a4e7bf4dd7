"""The tool runner: from a claimed step to a kept result, or to the words for why there is none."""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, get_args

from keptstep.models.artifacts import ArtifactClass, ArtifactRef, Blob
from keptstep.models.errors import (
    BadInput,
    NotFound,
    NotSent,
    Permanent,
    Refused,
    StoreError,
)
from keptstep.models.ids import ArtifactId
from keptstep.models.points import reach
from keptstep.models.records import NewArtifact, Step, StepLease
from keptstep.workers.calls import Calls, DeadlinePassed
from keptstep.workflows.definition import Context, Registry, Tool, result_type, wants_result
from keptstep.workflows.failures import FailureKeeper, place_of
from keptstep.workflows.inputs import Inputs
from keptstep.workflows.kernel import CallEnd
from keptstep.workflows.ports import ArtifactStore, CallFailed, TaskStore
from keptstep.workflows.values import Payload, Result, encode_value, put_back, shape

log = logging.getLogger(__name__)

_MEDIA_TYPE = re.compile(r"[!-~]+/[ -~]{1,100}", re.ASCII)


class LocalRunner:
    """Runs tools in this process."""

    def __init__(
        self,
        store: TaskStore,
        artifacts: ArtifactStore,
        registry: Registry,
        calls: Calls,
        *,
        new_id: Callable[[], bytes],
        max_result: int,
    ) -> None:
        self._store = store
        self._artifacts = artifacts
        self._registry = registry
        self._calls = calls
        self._new_id = new_id
        self._max_result = max_result
        self._inputs = Inputs(artifacts, new_id)
        self._failures = FailureKeeper(artifacts, new_id)

    def run(self, lease: StepLease) -> NewArtifact:
        """Call the step's tool and keep what it returns; raises ``CallFailed``."""
        step = lease.step
        tool = self._registry.tool(step.tool)
        try:
            given, read = self._given(step, tool)
        except StoreError:
            raise
        except Exception as error:
            # The call did not begin, so nothing happened, whatever its effect is.
            raise self._failed(step, tool, CallEnd.NO_INPUT, error) from None
        begun = time.monotonic()
        value = self._called(step, tool, given)
        reach("call.returned")
        left = call_limit(step.deadline) - (time.monotonic() - begun)
        try:
            kept = self._kept(step, tool, value, read, left)
        except StoreError:
            raise
        except BadInput as error:
            raise self._failed(step, tool, CallEnd.UNKEEPABLE, error) from None
        except BaseException as error:  # raised by the tool's own stream: the call ended here
            raise self._failed(step, tool, _end(error), error) from None
        return kept

    # -- before the call ---------------------------------------------------------------------
    def _given(self, step: Step, tool: Tool[..., Any]) -> tuple[dict[str, Any], list[ArtifactId]]:
        """Return the call's arguments and the artifacts they refer to."""
        kept = self._inputs.read(step, self._store.artifact)
        types = tool.signature.types
        places = []
        for ref in kept.refs:
            annotation = types.get(str(ref.path[0]))
            result = self._result(ref.id, annotation)
            places.append((ref.path, result if _mentions_result(annotation) else result.value))
        given: dict[str, Any] = put_back(kept.values, places)
        for name, annotation in types.items():
            if name in given and not _mentions_result(annotation):
                given[name] = shape(given[name], annotation, f"input {name}")
        if tool.signature.context is not None:
            given[tool.signature.context] = _context(step)
        return given, [ref.id for ref in kept.refs]

    def _result(self, artifact_id: ArtifactId, annotation: Any) -> Result[Any]:
        record = partial(self._store.artifact, artifact_id)
        return Result(record, self._artifacts, _inner_type(annotation))

    # -- the call ----------------------------------------------------------------------------
    def _called(self, step: Step, tool: Tool[..., Any], given: dict[str, Any]) -> Any:
        try:
            return self._calls.call(tool.function, given, call_limit(step.deadline), step.name)
        except BaseException as error:
            raise self._failed(step, tool, _end(error), error) from None

    # -- after the call ----------------------------------------------------------------------
    def _kept(
        self, step: Step, tool: Tool[..., Any], value: Any, read: list[ArtifactId], left: float
    ) -> NewArtifact:
        named: tuple[ArtifactRef, ...] = ()
        limit = tool.max_result or self._max_result
        if isinstance(value, Payload):
            media_type, named = value.media_type, value.sources
            self._check(value)
            blob = self._put(step, value.data, limit, left)
        else:
            data, media_type = encode_value(value)
            blob = self._artifacts.put([data], limit)
        sources = [ref.id for ref in named] or read
        if not sources and step.artifact_class is ArtifactClass.RENDER and step.input_id:
            sources = [step.input_id]  # derived from nothing else: from its own input (D45)
        ref = ArtifactRef(
            ArtifactId(self._new_id()), blob.sha, step.artifact_class, media_type, blob.size
        )
        return NewArtifact(ref, tuple(dict.fromkeys(sources)))

    def _check(self, payload: Payload) -> None:
        """Refuse, before anything is kept, what the row of the result could not hold."""
        if not isinstance(payload.media_type, str) or not _MEDIA_TYPE.fullmatch(
            payload.media_type
        ):
            raise BadInput(
                "a payload's media type is text such as text/plain, up to 128 characters"
            )
        for source in payload.sources:
            if not isinstance(source, ArtifactRef):
                raise BadInput("a payload's sources are the refs of results: result.ref")
            try:
                self._store.artifact(source.id)
            except NotFound:
                raise BadInput("a payload names a source that is not kept here") from None

    def _put(self, step: Step, data: bytes | Iterable[bytes], limit: int, left: float) -> Blob:
        if isinstance(data, bytes):
            return self._artifacts.put([data], limit)
        # A stream is the tool's own code still running: the deadline holds for it too.
        given = {"chunks": data, "limit": limit}
        kept: Blob = self._calls.call(self._artifacts.put, given, max(left, 0.0), step.name)
        return kept

    def _failed(
        self, step: Step, tool: Tool[..., Any], end: CallEnd, error: BaseException
    ) -> CallFailed:
        # Of the attempts that count now: a requeue begins anew.
        counted = self._store.attempts(step.id)[-step.attempts :]
        age = max(self._store.now() - counted[0].started_at, 0.0)
        wait = self._wait(tool, step.attempts, error, age)
        text = "".join(traceback.format_exception(error))
        return CallFailed(end, wait, self._failures.keep(f"the call {end}", error, text))

    def _wait(
        self, tool: Tool[..., Any], attempt: int, error: BaseException, age: float
    ) -> float | None:
        try:
            return tool.retry.wait_after(attempt, error, age)
        except Exception as broken:
            log.error("the retry policy of %s gives up: %s", tool.name, place_of(broken))
            return None


def call_limit(deadline: float) -> float:
    """Return the seconds a call gets: a little less than its deadline, so that its own worker
    and not a sweeper writes down how it ended."""
    return max(deadline - 1.0, deadline * 0.9)


def _end(error: BaseException) -> CallEnd:
    match error:
        case DeadlinePassed():
            return CallEnd.TIMED_OUT
        case NotSent():
            return CallEnd.NOT_SENT
        case Refused():
            return CallEnd.REFUSED
        case Permanent():
            return CallEnd.PERMANENT
        case _:
            return CallEnd.RAISED


def _context(step: Step) -> Context:
    return Context(
        task_id=step.task_id,
        step_id=step.id,
        step_name=step.name,
        attempt=step.attempts,
        idempotency_key=step.idempotency_key,
        deadline=call_limit(step.deadline),
    )


def _mentions_result(annotation: Any) -> bool:
    return wants_result(annotation) or any(map(_mentions_result, get_args(annotation)))


def _inner_type(annotation: Any) -> Any:
    """Return ``T`` of the first ``Result[T]`` in an annotation, else nothing."""
    if wants_result(annotation):
        return result_type(annotation)
    found = (_inner_type(part) for part in get_args(annotation))
    return next((kind for kind in found if kind is not None), None)
