"""One invocation of the command: its common options, and what follows from them."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from keptstep.ops.endings import Reporter

if TYPE_CHECKING:
    from rich.console import Console

    from keptstep.config import Settings

P = ParamSpec("P")

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The folder everything is kept in."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on stderr.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]


@dataclass
class Common:
    """The options every command has, before its name and after it."""

    home: Path | None = None
    json: bool = False
    verbose: bool = False
    debug: bool = False

    def over(self, before: Common) -> Common:
        """Return these options, with those before the command's name where these are silent."""
        return Common(
            home=self.home or before.home,
            json=self.json or before.json,
            verbose=self.verbose or before.verbose,
            debug=self.debug or before.debug,
        )


@dataclass
class Invocation:
    """What the group hands to its command: the reporter, and the options given so far."""

    reporter: Reporter
    common: Common


class Session:
    """What a command knows about its invocation."""

    def __init__(self, common: Common, reporter: Reporter) -> None:
        self.json = common.json
        self.debug = common.debug
        self.verbose = common.verbose
        self.quiet = common.json  #: whether nothing is said about the work
        self.modules: Sequence[str] = ()  #: what --import named
        self._home = common.home
        self._reporter = reporter
        reporter.json = reporter.json or common.json
        reporter.debug = reporter.debug or common.debug

    @cached_property
    def settings(self) -> Settings:
        """The settings; raises ``BadInput`` for a variable that cannot be taken."""
        from keptstep.config import Settings

        settings = Settings.load(self._home)
        self._reporter.home = settings.home
        return settings

    @cached_property
    def out(self) -> Console:
        """The console of stdout."""
        from keptstep.ops.terminal import console

        return console()

    @cached_property
    def err(self) -> Console:
        """The console of stderr."""
        from keptstep.ops.terminal import console

        return console(stderr=True)

    def log(self) -> None:
        """Let log records out on stderr."""
        from keptstep.ops.logs import set_up

        set_up(self.err, verbose=self.verbose, debug=self.debug)

    def note(self, text: str) -> None:
        """Say something about the work on stderr; nothing with ``--json`` or a supervisor."""
        if not self.quiet:
            from rich.text import Text

            from keptstep.ops.inert import inert_line
            from keptstep.ops.terminal import print_prose

            print_prose(self.err, [Text(inert_line(text))])

    def command(self, *words: str) -> str:
        """Return a command line to type next, with ``--home`` and ``--import`` as given here."""
        given = [] if self._home is None else ["--home", str(self._home)]
        if words[0] in ("resume", "worker", "explain"):
            given += [word for name in self.modules for word in ("--import", name)]
        return shlex.join(["keptstep", *words, *given])


def command(
    app: typer.Typer, name: str
) -> Callable[[Callable[Concatenate[Session, P], int | None]], None]:
    """Add a command that has the common options and is given its ``Session`` first.

    Its function returns an exit code, or ``None`` for 0.
    """

    def add(function: Callable[Concatenate[Session, P], int | None]) -> None:
        app.command(name)(_with_common_options(function))

    return add


def _with_common_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    def run(
        ctx: typer.Context,
        home: HomeOption = None,
        as_json: JsonOption = False,
        verbose: VerboseOption = False,
        debug: DebugOption = False,
        **own: Any,
    ) -> int | None:
        invocation: Invocation = ctx.obj
        common = Common(home, as_json, verbose, debug).over(invocation.common)
        return function(Session(common, invocation.reporter), **own)

    # typer reads a signature: that of the function, its session left out, with ours after it.
    _, *theirs = inspect.signature(function, eval_str=True).parameters.values()
    ctx, *ours, _ = inspect.signature(run, eval_str=True).parameters.values()
    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*theirs, *ours)]
    context = ctx.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [context, *keywords]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = function.__doc__
    run.__name__ = function.__name__
    return run
