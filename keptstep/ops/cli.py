"""The command ``keptstep``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from keptstep.ops.commands import add_all
from keptstep.ops.endings import Reporter
from keptstep.ops.exits import ExitCode, epilog
from keptstep.ops.guard import guarded
from keptstep.ops.session import (
    Common,
    DebugOption,
    HomeOption,
    Invocation,
    JsonOption,
    VerboseOption,
)
from keptstep.ops.streams import prepare_streams


class Commands(TyperGroup):
    """The group of all commands, inside the one boundary for errors."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *_given: Any,
        **_options: Any,
    ) -> NoReturn:
        """Run the command line and end the process with its exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        # Looked for here as well, because the line itself may be what is wrong.
        words = _before_dashes(arguments)
        reporter = Reporter(json="--json" in words, debug="--debug" in words)

        def run() -> int | None:
            invocation = Invocation(reporter, Common())
            with self.make_context("keptstep", arguments, obj=invocation) as ctx:
                code: int | None = self.invoke(ctx)
                return code

        sys.exit(guarded(run, reporter))


def _before_dashes(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


app = typer.Typer(
    cls=Commands,
    name="keptstep",
    epilog=epilog(),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: quick, and no box around what is to be copied
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(
    ctx: typer.Context,
    home: HomeOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
) -> None:
    """Durable workflows: what is done stays done, whatever happens to the process.

    The home is the folder that keeps everything: --home, else KEPTSTEP_HOME, else the
    platform's folder for a user's data. Ids may be shortened to any beginning or end that
    fits one thing only.
    """
    ctx.obj.common = Common(home, as_json, verbose, debug)
    if ctx.invoked_subcommand is None:
        if as_json:
            raise typer.BadParameter("a command is missing", ctx=ctx)
        print(ctx.get_help())
        raise typer.Exit(ExitCode.USAGE)


add_all(app)


def main() -> NoReturn:
    """Run the command line of this process."""
    prepare_streams()
    typer.main.get_command(app).main()
    raise AssertionError("the command ends the process itself")


if __name__ == "__main__":
    main()
