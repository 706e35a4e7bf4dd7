"""How a command ends otherwise than well: one line for a person, one object for a program."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keptstep.models.errors import KeptstepError
from keptstep.ops.exits import ExitCode, code_of
from keptstep.ops.inert import inert_line

_LEADS = {
    ExitCode.FAILED: "failed",
    ExitCode.BLOCKED: "blocked",
    ExitCode.INTERRUPTED: "stopped",
    ExitCode.TERMINATED: "stopped",
    ExitCode.HUNG_UP: "stopped",
}


class Ending(Exception):
    """A command's end with a code, a line, and hints on what to do next.

    ``kind`` is the name of the error for programs; ``facts`` are added to its JSON object.
    """

    def __init__(
        self,
        code: ExitCode,
        kind: str,
        message: str,
        hints: Sequence[str] = (),
        **facts: Any,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.message = message
        self.hints = hints
        self.facts = facts

    @classmethod
    def of(cls, error: KeptstepError) -> Ending:
        """Return the end that an error of keptstep means."""
        return cls(code_of(error), type(error).__name__, str(error))


@dataclass
class Reporter:
    """Says how a command ended, in the form that was asked for."""

    json: bool = False
    debug: bool = False
    home: Path | None = field(default=None)  #: where details of an unexpected error may go

    def tell(self, ending: Ending) -> int:
        """Say it on stderr and return the exit code."""
        if self.json:
            facts = {
                "kind": ending.kind,
                "message": ending.message,
                "exit_code": int(ending.code),
                **({"next": list(ending.hints)} if ending.hints else {}),
                **ending.facts,
            }
            sys.stderr.write(json.dumps({"error": facts}) + "\n")
        else:
            lead = _LEADS.get(ending.code, "error")
            sys.stderr.write(f"{lead}: {inert_line(ending.message)}\n")
            sys.stderr.writelines(f"  {inert_line(hint)}\n" for hint in ending.hints)
        return int(ending.code)

    def unexpected(self, error: BaseException) -> int:
        """Say that keptstep itself went wrong, and where the details are."""
        name = type(error).__name__
        if self.debug:
            traceback.print_exception(error)
            return self.tell(_bug(f"unexpected {name}: the details are above", ()))
        kept = self._keep_details(error)
        if kept is not None:
            return self.tell(_bug(f"unexpected {name}: the details are in {kept}", ()))
        hint = "run it again with --debug to see the details"
        return self.tell(_bug(f"unexpected {name}", (hint,)))

    def _keep_details(self, error: BaseException) -> Path | None:
        """Write the traceback, which may quote a payload, into the home: its owner reads it."""
        if self.home is None or not self.home.is_dir():
            return None
        folder = self.home / "errors"
        path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.writelines(traceback.format_exception(error))
        except OSError:
            return None
        return path


def _bug(message: str, hints: Sequence[str]) -> Ending:
    return Ending(ExitCode.UNEXPECTED, "Unexpected", message, hints)
