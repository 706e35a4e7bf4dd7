"""The report of a crash test as people read it: a row for each boundary, then what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from keptstep.models.points import POINTS
from keptstep.ops.inert import inert_line
from keptstep.ops.terminal import table
from keptstep.ops.words import plural
from keptstep.testing.crash import CHECKED, NOT_SEEN, Kind, Report, Trial

_HEADER = ("DIED AT", "CALLS", "ENDED AS", "VERDICT")
_PLACE = {point: at for at, point in enumerate(POINTS)}


def about(report: Report) -> Iterator[str]:
    """Return what was tested and how."""
    subject = report.subject
    effect = f" with effect {subject.effect!r}" if subject.effect else ""
    counts = Counter(trial.boundary.kind for trial in report.trials)
    in_calls = f", {counts[Kind.CALL]} in system calls" if report.traced else ""
    yield f"{inert_line(subject.target)}, a {subject.kind}{effect}"
    yield f"killed {plural(counts[Kind.POINT], 'time')} at named points{in_calls}"


def lines_of(report: Report) -> list[Text]:
    """Return the table: each point, and below it the system calls that come after it."""
    rows: dict[tuple[str, ...], int] = Counter(
        _row(trial) for trial in sorted(report.trials, key=_order)
    )
    return table(_HEADER, (_cells(row, count) for row, count in rows.items()))


def remarks(report: Report) -> Iterator[Text]:
    """Return what the table comes to, what was looked at, and what was not."""
    deaths, broken = len(report.trials), len(report.broken)
    if broken:
        yield Text(f"{broken} of {plural(deaths, 'death')} broke a rule", style="bold red")
    else:
        yield Text(f"{plural(deaths, 'death')}, and every rule held:", style="bold green")
        yield from (Text(f"  - {rule}") for rule in CHECKED)
    yield from (Text(f"not seen: {told}") for told in _not_seen(report))


def _not_seen(report: Report) -> Iterator[str]:
    subject = report.subject
    if subject.effect == "idempotent" and subject.takes_key:
        yield NOT_SEEN
    elif subject.effect == "idempotent":
        yield "it takes no Context and so gives its key to nobody: is it harmless to repeat?"
    if subject.kind == "workflow":
        yield NOT_SEEN
    if not report.traced:
        yield f"system calls, since {report.untraced}"
    if report.missed:
        yield f"{len(report.missed)} of the first run's boundaries, which did not come again"


def _order(trial: Trial) -> tuple[int, int, int]:
    boundary = trial.boundary
    if boundary.kind is Kind.POINT:
        return _PLACE.get(boundary.name, len(POINTS)), 0, boundary.nth
    return _PLACE.get(boundary.after, -1), 1, 0


def _row(trial: Trial) -> tuple[str, ...]:
    boundary = trial.boundary
    name = boundary.name if boundary.kind is Kind.POINT else f"  {boundary.name}"
    place = boundary.after if boundary.kind is Kind.CALL else boundary.name
    return name, str(trial.calls), trial.ended, "; ".join(trial.broken), place


def _cells(row: Sequence[str], count: int) -> tuple[str | Text, ...]:
    name, calls, ended, broken, _ = row
    times = f" ({count})" if count > 1 else ""
    verdict = Text("ok", style="green")
    if broken:
        verdict = Text(f"BROKEN: {inert_line(broken)}", style="bold red")
    elif "uncertain" in ended:
        verdict = Text("ok, a person is asked", style="green")
    return f"{name}{times}", f"{calls:>5}", inert_line(ended), verdict
