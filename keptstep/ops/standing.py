"""Whether a task that is not finished can go on by itself, and what keeps it if not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from keptstep.models.records import Step, Task
from keptstep.models.states import STEP_UNFINISHED, StepStatus, TaskStatus

_S = StepStatus


@dataclass(frozen=True, slots=True)
class Known:
    """The names of the workflows and tools a process knows."""

    workflows: Collection[str]
    tools: Collection[str]


def standstill(task: Task, steps: Sequence[Step], known: Known) -> str | None:
    """Return in one line why nothing here will move the task, or ``None`` if something may."""
    if task.status is TaskStatus.READY and task.workflow not in known.workflows:
        return unknown_workflow(task)
    unfinished = [step for step in steps if step.status in STEP_UNFINISHED]
    able = [step for step in unfinished if step.status in (_S.READY, _S.RUNNING, _S.WAITING)]
    if not able:
        uncertain = [step for step in unfinished if step.status is _S.UNCERTAIN]
        return unsettled(uncertain[0]) if uncertain else None
    if all(step.status is _S.READY and step.tool not in known.tools for step in able):
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
