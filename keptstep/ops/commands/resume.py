"""``keptstep resume``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.commands.read import ForceOption, OutOption
from keptstep.ops.endings import Ending
from keptstep.ops.exits import ExitCode
from keptstep.ops.modules import ImportOption
from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.models.ids import TaskId
    from keptstep.ops.following import Followed
    from keptstep.ops.working import Work

_ALL = 100_000  # more unfinished tasks than one home has

_ByOption = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides --again.")]
_WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="Why --again.")]
_AgainOption = Annotated[
    bool, typer.Option("--again", help="Set a blocked or failed task going again first.")
]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "resume")(resume)


def resume(  # noqa: PLR0913 - one parameter for each option
    session: Session,
    *,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", show_default=False)] = None,
    again: _AgainOption = False,
    by: _ByOption = "",
    why: _WhyOption = "",
    out: OutOption = None,
    force: ForceOption = False,
    modules: ImportOption = None,
) -> int | None:
    """Go on with a task, or with all unfinished ones.

    Works until they are finished, and prints the result of the one that was named.

    What is done stays done: only unfinished steps run.
    """
    from keptstep.ops.homes import check_home
    from keptstep.ops.people import checked_person
    from keptstep.ops.saving import check_out
    from keptstep.ops.working import working

    if task is None and (again or out is not None):
        raise typer.BadParameter("--again and --out need a TASK")
    if again:
        by, why = checked_person(by, why)
    elif by or why:
        raise typer.BadParameter("--by and --why belong to --again")
    check_out(out, force=force)
    check_home(session.settings)
    with working(session, modules) as work:
        if task is None:
            return _all(work)
        from keptstep.ops.finding import find_task
        from keptstep.ops.working import deliver

        task_id = find_task(work.app.store, task)
        if again:
            work.app.store.reopen_task(task_id, by, why)
        _say_where(work, task_id)
        (one,) = work.on([task_id])
        deliver(work, one, out, force=force)
    return None


def _say_where(work: Work, task_id: TaskId) -> None:
    """Say what is done already, before the work begins."""
    from keptstep.models.ids import short
    from keptstep.models.states import TASK_FINISHED, StepStatus
    from keptstep.ops.looks import about
    from keptstep.ops.words import plural

    task = work.app.store.task(task_id)
    if task.status in TASK_FINISHED:
        return
    steps = work.app.store.steps(task_id)
    done = sum(step.status is StepStatus.DONE for step in steps)
    said = f"{done} of {plural(len(steps), 'step')} done before" if steps else "nothing done yet"
    work.session.note(f"task {short(task.id)} ({said}): {about(task) or task.workflow}")


def _all(work: Work) -> int:
    from keptstep.ops.documents import task_document
    from keptstep.ops.streams import write_json
    from keptstep.ops.words import plural

    tasks = work.app.store.tasks(_ALL, unfinished=True)
    if not tasks and not work.session.json:
        work.session.note("nothing to do: every task is finished")
    elif tasks:
        work.session.note(f"working on {plural(len(tasks), 'unfinished task')}")
    followed = work.on([task.id for task in reversed(tasks)]) if tasks else []
    if work.stop.asked:
        raise _interrupted(work, followed)
    if work.session.json:
        write_json([{**task_document(one.task), "standstill": one.standstill} for one in followed])
    else:
        _print(work, followed)
    return int(_worst(followed))


def _interrupted(work: Work, followed: Sequence[Followed]) -> Ending:
    from keptstep.ops.words import plural

    left = plural(sum(not one.over for one in followed), "unfinished task")
    again = work.session.command("resume")
    message = f"{work.stop.by}; {left} kept, go on with: {again}"
    return Ending(work.stop.code, "Interrupted", message)


def _print(work: Work, followed: Sequence[Followed]) -> None:
    from keptstep.models.ids import short
    from keptstep.ops.inert import inert_line
    from keptstep.ops.looks import about, status_text
    from keptstep.ops.terminal import print_lines, table

    rows = [
        (
            short(one.task.id),
            status_text(one.task.status),
            inert_line(one.standstill or one.task.reason or "") or about(one.task),
        )
        for one in followed
    ]
    if rows:
        print_lines(work.session.out, table(("ID", "STATUS", "ABOUT"), rows))
        show = work.session.command("show", "ID")
        if _worst(followed) is not ExitCode.OK:
            work.session.note(f"what to do next: {show}")


def _worst(followed: Sequence[Followed]) -> ExitCode:
    from keptstep.models.states import TaskStatus

    if any(one.task.status in (TaskStatus.FAILED, TaskStatus.CANCELLED) for one in followed):
        return ExitCode.FAILED
    done = all(one.task.status is TaskStatus.DONE for one in followed)
    return ExitCode.OK if done else ExitCode.BLOCKED
