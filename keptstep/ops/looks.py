"""How records look to people: colours of statuses, what a task is about, labelled facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rich.text import Text

from keptstep.models.records import Step, Task
from keptstep.models.states import StepStatus, TaskStatus
from keptstep.ops.documents import literal
from keptstep.ops.inert import inert_line
from keptstep.ops.words import clock, distance

_STYLES = {
    "done": "green",
    "failed": "bold red",
    "blocked": "bold yellow",
    "uncertain": "bold yellow",
    "running": "cyan",
    "cancelled": "dim",
    "pending": "dim",
}
_LONGEST = 200


def status_text(status: TaskStatus | StepStatus, verdict: Step | None = None) -> Text:
    """Return a status in its colour; of a task that waits for a verdict, with its step's."""
    if verdict is not None:
        return Text(f"{status}, uncertain", style=_STYLES["uncertain"])
    return Text(str(status), style=_STYLES.get(str(status), ""))


def about(task: Task) -> str:
    """Return in one harmless line what a task is about: its question, else its inputs."""
    values = literal(task.input)
    if not values:
        return ""
    question = values.get("question")
    if isinstance(question, str):
        return inert_line(" ".join(question.split())[:_LONGEST])
    pairs = (f"{name}={_plain(value)}" for name, value in values.items())
    return inert_line(", ".join(pairs)[:_LONGEST])


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def facts(pairs: Iterable[tuple[str, str | Text | None]]) -> list[Text]:
    """Return labelled lines, leaving out what is not known; values are made harmless."""
    known = [(label, value) for label, value in pairs if value not in (None, "")]
    width = max((len(label) for label, _ in known), default=0) + 2
    lines = []
    for label, value in known:
        line = Text(f"  {label:<{width}}", style="dim")
        plain = value if isinstance(value, Text) else Text(inert_line(value or ""))
        lines.append(line.append_text(plain))
    return lines


def held(owner: str | None, until: float | None, now: float) -> str | None:
    """Return who holds a lease and until when, if anybody does."""
    if owner is None or until is None:
        return None
    end = f"until {clock(until, now)} ({distance(until, now)})"
    return (
        f"{owner} {end}" if until > now else f"{owner}, whose lease ended {distance(until, now)}"
    )


def next_lines(advice: Sequence[object]) -> list[Text]:
    """Return what to do next as a block of its own, or nothing."""
    if not advice:
        return []
    return [Text(), Text("next:"), *(Text(f"  {inert_line(str(each))}") for each in advice)]
