"""Logging of a command: one line a record on stderr, no payload, no traceback unless asked."""

from __future__ import annotations

import logging
import traceback

from rich.console import Console
from rich.text import Text

from keptstep.ops.inert import inert_line, inert_text

_STYLES = {logging.DEBUG: "dim", logging.INFO: "dim", logging.WARNING: "yellow"}


class Lines(logging.Handler):
    """Writes records through a console, so that they do not tear a live display."""

    def __init__(self, to: Console, *, debug: bool) -> None:
        super().__init__()
        self._to = to
        self._debug = debug

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            self._write(record)
        except OSError:  # nobody reads stderr any more, and work goes on
            return

    def _write(self, record: logging.LogRecord) -> None:
        style = _STYLES.get(record.levelno, "red")
        line = f"{record.levelname.lower()}: {inert_line(record.getMessage())}"
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            # Its text may quote a payload; the class name cannot.
            line += f" ({type(error).__name__})"
        self._to.print(Text(line, style=style), soft_wrap=True)
        if error is not None and self._debug:
            text = "".join(traceback.format_exception(error))
            self._to.print(Text(inert_text(text)), soft_wrap=True)


def set_up(to: Console, *, verbose: bool, debug: bool) -> None:
    """Let warnings through, everything of ours with ``verbose`` or ``debug``."""
    root = logging.getLogger()
    root.handlers = [Lines(to, debug=debug)]
    root.setLevel(logging.WARNING)
    ours = logging.DEBUG if debug else logging.INFO if verbose else logging.WARNING
    logging.getLogger("keptstep").setLevel(ours)
    # The queue's own words are about messages, which may be lost without harm.
    logging.getLogger("dramatiq").setLevel(logging.WARNING if debug else logging.CRITICAL)
