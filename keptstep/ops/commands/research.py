"""``keptstep research``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keptstep.ops.commands.read import ForceOption, OutOption
from keptstep.ops.modules import ImportOption
from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.models.ids import ConversationId
    from keptstep.ops.working import Work
    from keptstep.workflows.handle import Handle

_SourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source", "-s", metavar="PATH", help="A file, folder or glob to read; repeatable."
    ),
]
_MoreArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[PATH]...", help="More sources.")
]
_BrainOption = Annotated[
    str, typer.Option("--brain", metavar="SPEC", help="Who takes the notes and writes.")
]
_ConversationOption = Annotated[
    str | None,
    typer.Option("--conversation", metavar="ID", help="The conversation the task belongs to."),
]
_KeyOption = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="The same key again is the same task."),
]
_DetachOption = Annotated[
    bool, typer.Option("--detach", "-d", help="Only submit: a worker or resume does the work.")
]

_ID_BYTES = 16


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "research")(research)


def research(  # noqa: PLR0913 - one parameter for each option
    session: Session,
    *,
    question: Annotated[str, typer.Argument(metavar="QUESTION", show_default=False)],
    more: _MoreArgument = None,
    sources: _SourceOption = None,
    brain: _BrainOption = "extractive",
    conversation: _ConversationOption = None,
    key: _KeyOption = None,
    detach: _DetachOption = False,
    out: OutOption = None,
    force: ForceOption = False,
    modules: ImportOption = None,
) -> None:
    """Answer a question from sources with a cited report.

    Reads files, folders and globs, takes notes on the question, and prints the report as
    Markdown. The task is kept before anything else happens. Ctrl-C stops as planned, and
    resume goes on.
    """
    from keptstep.ops.saving import check_out

    if detach and out is not None:
        raise typer.BadParameter("--detach prints no report: use --out with resume")
    if key == "":
        raise typer.BadParameter("--key needs 1 to 200 characters")
    check_out(out, force=force)
    inputs = _checked(question, [*(sources or ()), *(more or ())], brain)
    belongs = _conversation(conversation)
    from keptstep.ops.working import deliver, working

    with working(session, modules) as work:
        handle = work.app.submit("keptstep.research", key=key, conversation=belongs, **inputs)
        if detach:
            _detached(session, handle)
            return
        _say_begun(work, handle, inputs)
        (one,) = work.on([handle.id])
        deliver(work, one, out, force=force, created=handle.created)


def _checked(question: str, sources: list[str], brain: str) -> dict[str, object]:
    """Return the workflow's inputs; nothing is written for one that cannot be taken."""
    from keptstep.models.errors import BadInput
    from keptstep.workers.research import check_sources, resolve
    from keptstep.workflows.research import check_question

    try:
        question.encode()
    except UnicodeEncodeError:
        raise BadInput("the question is no readable text: type it again") from None
    asked = check_question(question)
    if not sources:
        raise BadInput("no source was given: add --source with a file, a folder or a glob")
    resolve(brain)
    return {"question": asked, "sources": check_sources(sources), "brain": brain}


def _conversation(typed: str | None) -> ConversationId | None:
    from keptstep.models.errors import BadInput
    from keptstep.models.ids import ConversationId

    if typed is None:
        return None
    try:
        identity = bytes.fromhex(typed.replace("-", ""))
    except ValueError:
        identity = b""
    if len(identity) != _ID_BYTES:
        raise BadInput("--conversation takes a whole id of 32 hexadecimal digits: keptstep show")
    return ConversationId(identity)


def _detached(session: Session, handle: Handle) -> None:
    from keptstep.models.ids import full, short
    from keptstep.ops.documents import task_document
    from keptstep.ops.streams import write_json

    if session.json:
        write_json({**task_document(handle.task()), "created": handle.created})
        return
    print(full(handle.id))
    resume = session.command("resume", short(handle.id))
    session.note(f"kept; a running worker takes it, or work on it here: {resume}")


def _say_begun(work: Work, handle: Handle, inputs: dict[str, object]) -> None:
    from keptstep.models.ids import short

    session, home = work.session, work.app.settings.home
    if handle.created:
        session.note(f"task {short(handle.id)}, kept in {home}: {inputs['question']}")
    else:
        status = handle.task().status
        session.note(f"task {short(handle.id)} has this key already and is {status}")
