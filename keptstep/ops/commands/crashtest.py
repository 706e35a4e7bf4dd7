"""``keptstep crashtest``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from keptstep.ops.session import Session, command

if TYPE_CHECKING:
    from keptstep.testing.crash import Report, Subject

_SAMPLE = 30
_InputOption = Annotated[
    str, typer.Option("--input", metavar="JSON", help="Its arguments, as a JSON object.")
]
_YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Call it for real, again and again.")
]
_PointsOption = Annotated[
    bool, typer.Option("--points-only", help="Die at named points, not in system calls.")
]
_CallsOption = Annotated[
    str, typer.Option("--calls", metavar="N|all", help="How many system calls to die in.")
]
_FreshOption = Annotated[
    bool, typer.Option("--fresh", help="A new interpreter each time, not a fork.")
]
_TimeoutOption = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=1, help="For one run of it.")
]


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "crashtest")(crashtest)


def crashtest(  # noqa: PLR0913, PLR0917 - one parameter for each option
    session: Session,
    target: Annotated[str, typer.Argument(metavar="MODULE:TOOL")],
    given: _InputOption = "{}",
    yes: _YesOption = False,
    points_only: _PointsOption = False,
    calls: _CallsOption = str(_SAMPLE),
    fresh: _FreshOption = False,
    timeout: _TimeoutOption = 60.0,
) -> int:
    """Kill a tool of yours at every boundary and see what it comes to.

    The tool, or a whole workflow, runs in a temporary home and is killed at each named point
    and in system calls. A fresh process recovers. It is really called, some 60 times.
    """
    from keptstep.ops.exits import ExitCode
    from keptstep.ops.streams import write_json
    from keptstep.testing.crash import CHECKED, CrashTest

    session.log()
    inputs, most = _inputs(given), 0 if points_only else _most(calls)
    with CrashTest(target, inputs, seconds=timeout, fresh=fresh) as test:
        if not yes:
            _refuse_to_act(test.subject)
        report = _run(session, test, most)
    if session.json:
        write_json({**report.document(), "checked": list(CHECKED)})
    else:
        _print(session, report)
    return int(ExitCode.OK if report.held else ExitCode.FAILED)


def _run(session: Session, test: Any, most: int | None) -> Report:
    from keptstep.testing.crash import Trial, run_all

    trials: list[Trial] = []
    status = session.err.status("a first run, without a crash")
    if session.json or not session.err.is_terminal:
        return run_all(test, calls=most)

    def told(trial: Trial) -> None:
        trials.append(trial)
        status.update(f"{len(trials)} deaths so far, the last at {trial.boundary}")

    with status:
        return run_all(test, calls=most, told=told)


def _inputs(text: str) -> dict[str, Any]:
    import json

    from keptstep.models.errors import BadInput

    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise BadInput('--input is a JSON object of arguments by name, such as {"n": 1}')
    return given


def _most(text: str) -> int | None:
    from keptstep.models.errors import BadInput

    if text == "all":
        return None
    if not text.isascii() or not text.isdigit():
        raise BadInput(f"--calls is a number or all, not {text!r}")
    return int(text)


def _refuse_to_act(subject: Subject) -> None:
    from keptstep.models.errors import BadInput

    if subject.effect == "none":
        return
    what = "may act on the world" if subject.effect is None else f"is declared {subject.effect!r}"
    raise BadInput(
        f"this calls {subject.target} for real, some 60 times, and it {what}: point it at "
        "something harmless, then add --yes"
    )


def _print(session: Session, report: Report) -> None:
    from rich.text import Text

    from keptstep.ops.crash_table import about, lines_of, remarks
    from keptstep.ops.terminal import print_lines, print_prose

    print_prose(session.out, [*(Text(line, style="bold") for line in about(report)), Text()])
    print_lines(session.out, lines_of(report))
    print_prose(session.out, [Text(), *remarks(report)])
