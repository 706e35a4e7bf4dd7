"""From what a person typed to the one thing it means (D48)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from keptstep.models.errors import Ambiguous, BadInput, NotFound
from keptstep.models.ids import ArtifactId, StepId, TaskId, full, is_fragment
from keptstep.ops.endings import Ending
from keptstep.ops.exits import ExitCode
from keptstep.workflows.ports import TaskStore

Kind = Literal["task", "step", "artifact"]


@dataclass(frozen=True, slots=True)
class Found:
    """A thing and what kind of thing it is."""

    kind: Kind
    id: bytes


def find(store: TaskStore, typed: str, *kinds: Kind) -> Found:
    """Return what begins or ends with ``typed``, or is the step ``TASK/NAME``.

    Raises ``BadInput`` for what can be no id and ``NotFound``; ends the command with the
    candidates where several fit.
    """
    if "/" in typed and "step" in kinds:
        return Found("step", _named_step(store, typed))
    if not is_fragment(typed):
        more = ", and a step may be TASK/NAME" if "step" in kinds else ""
        raise BadInput(f"{typed[:80]!r} is no id: ids are hexadecimal digits{more}")
    look: dict[Kind, Callable[[str], Sequence[bytes]]] = {
        "task": store.task_ids,
        "step": store.step_ids,
        "artifact": store.artifact_ids,
    }
    found = [Found(kind, identity) for kind in kinds for identity in look[kind](typed)]
    if not found:
        raise NotFound(f"no {' or '.join(kinds)} begins or ends with {typed[:80]}")
    if len(found) > 1:
        raise _several(typed, found)
    return found[0]


def find_task(store: TaskStore, typed: str) -> TaskId:
    """Return the task that is meant."""
    return TaskId(find(store, typed, "task").id)


def find_step(store: TaskStore, typed: str) -> StepId:
    """Return the step that is meant."""
    return StepId(find(store, typed, "step").id)


def find_result(store: TaskStore, typed: str) -> ArtifactId:
    """Return the artifact that is meant, or the result of the task or step that is meant."""
    found = find(store, typed, "artifact", "task", "step")
    if found.kind == "artifact":
        return ArtifactId(found.id)
    record = store.task(TaskId(found.id)) if found.kind == "task" else None
    owner = record or store.step(StepId(found.id))
    if owner.artifact_id is None or owner.status != "done":
        raise NotFound(f"{found.kind} {typed} has no result: it is {owner.status}")
    return owner.artifact_id


def _named_step(store: TaskStore, typed: str) -> StepId:
    fragment, _, name = typed.partition("/")
    task_id = find_task(store, fragment)
    step = next((step for step in store.steps(task_id) if step.name == name), None)
    if step is None:
        raise NotFound(f"task {fragment} has no step {name[:128]}: keptstep show {fragment}")
    return step.id


def _several(typed: str, found: Sequence[Found]) -> Ending:
    candidates = [f"{each.kind} {full(each.id)}" for each in found]
    more = " or more" if len(found) >= _MOST else ""
    message = f"{typed} fits {len(found)}{more} things: give more digits"
    facts = [{"kind": each.kind, "id": full(each.id)} for each in found]
    return Ending(ExitCode.NOT_FOUND, Ambiguous.__name__, message, candidates, candidates=facts)


_MOST = 10  # a store returns no more of a kind
