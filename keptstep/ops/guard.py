"""The one place where everything that can go wrong becomes an exit code."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable

import typer

from keptstep.models.errors import KeptstepError
from keptstep.ops.endings import Ending, Reporter
from keptstep.ops.exits import ExitCode
from keptstep.ops.streams import mute


def guarded(run: Callable[[], int | None], reporter: Reporter) -> int:
    """Run a command and return its exit code, whatever happens in it."""
    try:
        code = run() or 0
        sys.stdout.flush()
    except BaseException as error:
        code = _ended(error, reporter)
    return code


def _ended(error: BaseException, reporter: Reporter) -> int:
    try:
        return _told(error, reporter)
    except OSError as broken:  # there is nobody left to tell
        mute(sys.stderr)
        return int(ExitCode.BROKEN_PIPE if broken.errno == errno.EPIPE else ExitCode.OUTPUT)


def _told(error: BaseException, reporter: Reporter) -> int:
    match error:
        case Ending() | KeptstepError() | typer.TyperException():
            return reporter.tell(_ending(error))
        case typer.Exit():
            return error.exit_code
        case KeyboardInterrupt() | typer.Abort():
            return int(ExitCode.INTERRUPTED)
        case OSError(errno=errno.EPIPE):
            mute(sys.stdout)
            return int(ExitCode.BROKEN_PIPE)
        case SystemExit():
            raise error
        case _:
            return _unexpected(error, reporter)


def _unexpected(error: BaseException, reporter: Reporter) -> int:
    # The stores explain what the system refuses them; what a plain write says is about stdout.
    if isinstance(error, OSError) and error.filename is None and error.errno in _WRITING:
        mute(sys.stdout)
        message = f"the output could not be written ({error.strerror})"
        return reporter.tell(Ending(ExitCode.OUTPUT, "OutputFailed", message))
    return reporter.unexpected(error)


_WRITING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def _ending(error: Ending | KeptstepError | typer.TyperException) -> Ending:
    match error:
        case Ending():
            return error
        case KeptstepError():
            return Ending.of(error)
        case _:
            context = getattr(error, "ctx", None)
            hints = [f"{context.command_path} --help"] if context is not None else []
            return Ending(ExitCode.USAGE, "Usage", error.format_message(), hints)
