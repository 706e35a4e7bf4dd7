"""What to do next about a task or a step: commands to type, with why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keptstep.models.errors import StepFailed
from keptstep.models.ids import short
from keptstep.models.records import Step, Task
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.ops.session import Session

_BY = ("--by", "NAME", "--why", "TEXT")


@dataclass(frozen=True, slots=True)
class Advice:
    """A command, and what it is good for."""

    command: str
    why: str

    def __str__(self) -> str:
        """The command first, for copying."""
        return f"{self.command}   ({self.why})"


def about_task(session: Session, task: Task, steps: Sequence[Step]) -> list[Advice]:
    """Return what may be done about a task as it stands."""
    if task.paused_at is not None:
        return [Advice(session.command("unpause", short(task.id), *_BY), "let it go on")]
    return list(_about_task(session, task, steps))


def _about_task(session: Session, task: Task, steps: Sequence[Step]) -> Iterator[Advice]:
    which = short(task.id)
    by_step = task.error is not None and task.error.kind == StepFailed.__name__
    uncertain = [step for step in steps if step.status is StepStatus.UNCERTAIN]
    if task.error is not None and task.error.artifact_id is not None:
        text = short(task.error.artifact_id)
        yield Advice(session.command("read", text), "what exactly went wrong")
    match task.status:
        case TaskStatus.DONE if task.artifact_id is not None:
            yield Advice(session.command("read", which), "the result")
        case TaskStatus.FAILED if by_step:
            failed = [step for step in steps if step.status is StepStatus.FAILED]
            for step in failed[:_MOST]:
                yield from about_step(session, step)
        case TaskStatus.FAILED | TaskStatus.BLOCKED:
            again = session.command("resume", which, "--again", *_BY)
            yield Advice(again, "once the cause is gone: what is done stays done")
        case TaskStatus.READY | TaskStatus.WAITING | TaskStatus.RUNNING if not uncertain:
            yield Advice(session.command("resume", which), "work on it here and wait for it")
        case _:
            pass
    for step in uncertain[:_MOST]:
        explain = session.command("explain", short(step.id))
        yield Advice(explain, f"why {step.name} is uncertain")


_MOST = 3


def about_step(session: Session, step: Step) -> Iterator[Advice]:
    """Return what may be done about a step as it stands."""
    which = short(step.id)
    if step.error is not None and step.error.artifact_id is not None:
        text = session.command("read", short(step.error.artifact_id))
        yield Advice(text, f"the last error of {step.name} in full")
    if step.status is StepStatus.DONE and step.artifact_id is not None:
        yield Advice(session.command("read", short(step.artifact_id)), "its result")
    elif step.status is StepStatus.UNCERTAIN:
        happened = session.command("settle", which, "--happened", *_BY)
        yield Advice(happened, "you found that it happened; --evidence FILE becomes its result")
        yield Advice(
            session.command("settle", which, "--did-not-happen", *_BY), "let it run again"
        )
        yield Advice(session.command("settle", which, "--abandon", *_BY), "give it up")
    elif step.status is StepStatus.FAILED:
        yield Advice(session.command("retry", which, *_BY), f"try {step.name} again")
