"""Working on tasks in this process until they end, and saying how they ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keptstep.models.artifacts import JSON_TYPE
from keptstep.models.ids import TaskId, full, short
from keptstep.models.records import Step, Task
from keptstep.models.states import TASK_FINISHED, StepStatus, TaskStatus
from keptstep.ops.advice import about_task
from keptstep.ops.documents import artifact_document, task_document
from keptstep.ops.endings import Ending
from keptstep.ops.exits import ExitCode
from keptstep.ops.following import Followed, Following
from keptstep.ops.modules import import_modules
from keptstep.ops.progress import progress_on
from keptstep.ops.reasons import error_line
from keptstep.ops.results import is_text_type, json_text, print_text, stream, text_of
from keptstep.ops.session import Session
from keptstep.ops.standing import Known, standstill
from keptstep.ops.stopping import Stop, stoppable
from keptstep.ops.words import size, span

if TYPE_CHECKING:
    from keptstep.app import App


@dataclass
class Work:
    """A process that works on a home, until it is stopped."""

    session: Session
    app: App
    stop: Stop

    def on(self, tasks: Sequence[TaskId]) -> list[Followed]:
        """Work on these tasks and follow them until each is over or stands still.

        Others' tasks are left alone: this process ends with its own, and must not begin side
        effects that it would not see through.
        """
        self.app.start(only=tasks)
        progress = progress_on(self.session.err, silent=self.session.json, several=len(tasks) > 1)
        following = Following(self.app.store, progress, self._standstill)
        followed = [following.add(task_id) for task_id in tasks]
        following.run(followed, self.stop)
        return followed

    @cached_property
    def known(self) -> Known:
        """What this process can work on."""
        registry = self.app.registry
        return Known(frozenset(registry.workflows), frozenset(registry.tools))

    def _standstill(self, task: Task, steps: Sequence[Step]) -> str | None:
        from keptstep.ops.holders import living

        reason = standstill(task, steps, self.known)
        if reason is None or standstill(task, steps, _ANYTHING) is not None:
            return reason
        # Another worker may know what this one does not: while one lives, there is hope.
        others = living(self.app.settings.worker_locks) - {self.app.worker}
        return None if others else reason


class _Everything(frozenset[str]):
    def __contains__(self, _name: object) -> bool:
        return True


_ANYTHING = Known(_Everything(), _Everything())


@contextmanager
def working(session: Session, modules: Sequence[str] | None) -> Iterator[Work]:
    """Open a home to work in it; stop as planned at the end, however it comes."""
    session.log()
    with stoppable() as stop:
        import_modules(session, modules)
        from keptstep.app import App

        app = App.open(settings=session.settings)
        try:
            if stop.asked:
                raise Ending(stop.code, "Interrupted", f"{stop.by}; nothing was begun")
            yield Work(session, app, stop)
        finally:
            if stop.asked and app.worker is not None:
                grace = span(app.settings.grace)
                session.note(f"stopping: running steps get {grace}; Ctrl-C again stops at once")
            app.close()


def deliver(work: Work, one: Followed, out: Path | None, *, force: bool, **facts: Any) -> None:
    """Give a task's result out, or end the command with what came instead of it.

    ``facts`` are added to the JSON document.
    """
    task, session, store = one.task, work.session, work.app.store
    if task.status is not TaskStatus.DONE or task.artifact_id is None:
        raise no_result(work, one)
    ref = store.artifact(task.artifact_id)
    if out is not None:
        stream(work.app.artifacts, ref, out, force=force)
        session.note(f"saved to {out} ({size(ref.size)})")
        facts["out"] = str(out.absolute())
    if session.json:
        from keptstep.ops.streams import write_json

        text = is_text_type(ref.media_type) and out is None
        facts["result"] = artifact_document(ref)
        facts["text"] = text_of(work.app.artifacts, ref) if text else None
        write_json({**task_document(task), **facts})
    elif out is None and ref.media_type == JSON_TYPE:
        from keptstep.ops.inert import inert_text

        print(inert_text(json_text(work.app.artifacts, ref)))
    elif out is None and is_text_type(ref.media_type):
        print_text(work.app.artifacts, ref)
    elif out is None:
        command = session.command("read", short(ref.id), "--out", "FILE")
        session.note(f"the result is {ref.media_type}, {size(ref.size)}: {command}")


def _last_error(work: Work, task: Task, steps: Sequence[Step]) -> str | None:
    """Return the last line of the error that ended a task: its own, or that of its failed step."""
    store, artifacts = work.app.store, work.app.artifacts
    if task.status not in (TaskStatus.FAILED, TaskStatus.BLOCKED):
        return None
    failed = (step for step in steps if step.status is StepStatus.FAILED)
    errors = [task.error, *(step.error for step in failed)]
    lines = (error_line(store, artifacts, error) for error in errors)
    return next((line for line in lines if line), None)


def no_result(work: Work, one: Followed) -> Ending:
    """Return how the command ends when a followed task has no result to give."""
    task, session = one.task, work.session
    which = short(task.id)
    steps = work.app.store.steps(task.id)
    said = _last_error(work, task, steps)
    hints = [*([said] if said else []), *map(str, about_task(session, task, steps))]
    facts = {"task_id": full(task.id), "status": str(task.status)}
    if task.status is TaskStatus.BLOCKED or one.standstill is not None:
        reason = one.standstill or task.reason
        return Ending(ExitCode.BLOCKED, "TaskBlocked", f"task {which}: {reason}", hints, **facts)
    if task.status in TASK_FINISHED:
        reason = task.reason or f"it is {task.status}"
        return Ending(ExitCode.FAILED, "TaskFailed", f"task {which}: {reason}", hints, **facts)
    resume = session.command("resume", which)
    message = f"{work.stop.by}; task {which} is kept, go on with: {resume}"
    return Ending(work.stop.code, "Interrupted", message, **facts)
