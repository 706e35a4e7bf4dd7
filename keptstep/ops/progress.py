"""Progress on stderr: a line for each piece of news, and on a terminal what runs just now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from keptstep.models.ids import short
from keptstep.models.states import STEP_FINISHED, STEP_UNFINISHED
from keptstep.ops.inert import inert_line
from keptstep.ops.terminal import print_lines, print_prose
from keptstep.ops.watching import Line, Mark, TaskView, Watched
from keptstep.ops.words import seconds

_STYLES = {Mark.DONE: "green", Mark.WARNING: "yellow", Mark.BAD: "bold red", Mark.NOTE: "cyan"}
_SIGNS = {Mark.DONE: "✓", Mark.WARNING: "!", Mark.BAD: "✗", Mark.NOTE: "-"}
_ASCII = {Mark.DONE: "+", Mark.WARNING: "!", Mark.BAD: "x", Mark.NOTE: "-"}
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ROWS = 8


class Progress(Protocol):
    """Where the news of followed tasks goes."""

    def tell(self, view: TaskView, line: Line) -> None:
        """Show one piece of news."""
        ...

    def refresh(self, views: Sequence[TaskView], now: float) -> None:
        """Show what runs at ``now``, in seconds of the store's clock."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


def progress_on(console: Console, *, silent: bool, several: bool) -> Progress:
    """Return the progress that fits: none, live on a terminal, plain lines elsewhere.

    With ``several`` tasks each line says which one it is about.
    """
    if silent:
        return Silent()
    return LiveProgress(console, several) if console.is_terminal else Plain(console, several)


class Silent:
    """Shows nothing."""

    def tell(self, view: TaskView, line: Line) -> None:
        """See ``Progress.tell``."""

    def refresh(self, views: Sequence[TaskView], now: float) -> None:
        """See ``Progress.refresh``."""

    def close(self) -> None:
        """See ``Progress.close``."""


class Plain:
    """One line for each piece of news, with the time of day."""

    def __init__(self, console: Console, several: bool) -> None:
        self._console = console
        self._several = several

    def tell(self, view: TaskView, line: Line) -> None:
        """See ``Progress.tell``."""
        moment = datetime.fromtimestamp(line.at).astimezone()
        words = (f"{moment:%H:%M:%S}", _about(view, line, self._several), inert_line(line.text))
        print_lines(self._console, [Text(" ".join(word for word in words if word))])

    def refresh(self, views: Sequence[TaskView], now: float) -> None:
        """See ``Progress.refresh``."""

    def close(self) -> None:
        """See ``Progress.close``."""


class LiveProgress:
    """News as lines that stay; below them what runs, until it is news."""

    def __init__(self, console: Console, several: bool) -> None:
        self._console = console
        self._several = several
        self._ascii = not console.encoding.startswith("utf")
        self._frame = 0
        self._begun: float | None = None
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def tell(self, view: TaskView, line: Line) -> None:
        """See ``Progress.tell``."""
        if line.mark is Mark.STARTED:
            return
        text = Text((_ASCII if self._ascii else _SIGNS)[line.mark], style=_STYLES[line.mark])
        name = _about(view, line, self._several).removeprefix("step ")
        text.append(f" {name} ", style="default")
        text.append(inert_line(line.text), style="dim" if line.mark is Mark.DONE else "default")
        print_prose(self._console, [text])

    def refresh(self, views: Sequence[TaskView], now: float) -> None:
        """See ``Progress.refresh``."""
        self._begun = now if self._begun is None else self._begun
        self._frame += 1
        rows = self._rows(views, now)
        most = max(1, min(_ROWS, self._console.height - 4))
        if len(rows) > most:
            rows = [*rows[: most - 1], Text(f"  and {len(rows) - most + 1} more", style="dim")]
        self._live.update(Group(*rows, self._summary(views, now)), refresh=True)

    def close(self) -> None:
        """See ``Progress.close``."""
        self._live.stop()

    def _rows(self, views: Sequence[TaskView], now: float) -> list[Text]:
        sign = "*" if self._ascii else _SPINNER[self._frame % len(_SPINNER)]
        rows = []
        for view in views:
            which = f"{short(view.task_id)} " if self._several else ""
            rows += [_running(sign, which, step, now) for step in view.running()]
            rows += [_waiting(which, step, now) for step in view.delayed(now)]
        return rows

    def _summary(self, views: Sequence[TaskView], now: float) -> Text:
        finished = sum(view.count(*STEP_FINISHED) for view in views)
        known = finished + sum(view.count(*STEP_UNFINISHED) for view in views)
        passed = seconds(now - (self._begun or now))
        return _row(f"  {finished} of {known} steps so far, {passed}", "dim")


def _running(sign: str, which: str, step: Watched, now: float) -> Text:
    tries = f", try {step.attempt}" if step.attempt > 1 else ""
    row = _row(sign, "cyan")
    row.append(f" {which}{inert_line(step.name)} ", style="default")
    return row.append(f"{seconds(now - step.since)}{tries}", style="dim")


def _waiting(which: str, step: Watched, now: float) -> Text:
    text = f"  {which}{inert_line(step.name)} again in {seconds(step.due_at - now)}"
    return _row(text, "yellow")


def _row(text: str, style: str) -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _about(view: TaskView, line: Line, several: bool) -> str:
    subject = f"step {inert_line(line.subject)}" if line.subject else ""
    if not subject:
        return f"task {short(view.task_id)}"
    return f"{short(view.task_id)} {subject}" if several else subject
