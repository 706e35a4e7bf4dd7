"""Whether a task that is not finished can go on by itself, and what keeps it if not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from keptstep.models.records import Step, Task
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.workflows.kernel import verdict_needed

_S = StepStatus
_ABLE = frozenset({_S.READY, _S.RUNNING, _S.WAITING})


@dataclass(frozen=True, slots=True)
class Known:
    """The names of the workflows and tools a process knows."""

    workflows: Collection[str]
    tools: Collection[str]


def standstill(task: Task, unfinished: Sequence[Step], known: Known) -> str | None:
    """Return in one line why nothing here will move the task, or ``None`` if something may.

    ``unfinished`` are the task's unfinished steps.
    """
    if task.paused_at is not None and not any(step.status is _S.RUNNING for step in unfinished):
        return "it is paused: keptstep unpause lets it go on"
    if task.status is TaskStatus.READY:
        # Somebody enters its function soon, and that may ask for more steps.
        return None if task.workflow in known.workflows else unknown_workflow(task)
    uncertain = verdict_needed(unfinished)
    if uncertain is not None:
        return unsettled(uncertain)
    able = [step for step in unfinished if step.status in _ABLE]
    if able and all(step.status is _S.READY and step.tool not in known.tools for step in able):
        return unknown_tool(able[0])
    return None


def unsettled(step: Step) -> str:
    """Say that a step waits for a verdict."""
    return f"step {step.name} is uncertain: a person has to find out whether it happened"


def unknown_tool(step: Step) -> str:
    """Say that a step's tool is not known here."""
    return f"step {step.name} needs the tool {step.tool}, which is not known here"


def unknown_workflow(task: Task) -> str:
    """Say that a task's workflow is not known here."""
    return f"its workflow {task.workflow} is not known here"
