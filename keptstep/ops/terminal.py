"""Consoles and columns, for text that may hold anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_GAP = 2


class PipeConsole(Console):
    """A console that leaves a broken pipe to the one place that handles it."""

    def on_broken_pipe(self) -> None:
        """Raise the error again: it is being handled while this is called."""
        raise  # noqa: PLE0704 - rich calls this inside its except clause


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes no text for markup, a number to colour or an emoji's name."""
    return PipeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_lines(to: Console, lines: Iterable[Text]) -> None:
    """Print lines: cut at a terminal's edge, whole everywhere else."""
    for line in lines:
        if to.is_terminal:
            to.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            to.print(line, soft_wrap=True)


def print_prose(to: Console, lines: Iterable[Text]) -> None:
    """Print lines: wrapped between words on a terminal, whole everywhere else."""
    for line in lines:
        to.print(line, soft_wrap=not to.is_terminal)


def table(header: Sequence[str], rows: Iterable[Sequence[Text | str]]) -> list[Text]:
    """Lay rows out in columns; the last column is not padded, so put long text there."""
    head = [Text(title, style="dim") for title in header]
    cells = [[each if isinstance(each, Text) else Text(each) for each in row] for row in rows]
    widths = [max(cell_len(row[at].plain) for row in [head, *cells]) for at in range(len(head))]
    return [_laid_out(row, widths) for row in [head, *cells]]


def _laid_out(row: Sequence[Text], widths: Sequence[int]) -> Text:
    line = Text()
    for at, cell in enumerate(row):
        line.append_text(cell)
        if at < len(row) - 1 and any(rest.plain for rest in row[at + 1 :]):
            line.append(" " * (widths[at] + _GAP - cell_len(cell.plain)))
    return line
