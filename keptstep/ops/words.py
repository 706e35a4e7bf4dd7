"""Times, spans and sizes as people read them, and as programs do."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

_FINE = 10  # seconds below which tenths are told
_MINUTE = 60
_UNITS_OF_TIME = ((86_400, "d"), (3600, "h"), (_MINUTE, "min"), (1, "s"))
_PAIRS = tuple(pairwise(_UNITS_OF_TIME))
_THOUSAND = 1000
_UNITS = ("kB", "MB", "GB", "TB")


def iso(moment: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def clock(moment: float, now: float) -> str:
    """Return a moment in local time: the time of day, with the date when it is not today's."""
    local = datetime.fromtimestamp(moment).astimezone()
    today = datetime.fromtimestamp(now).astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%Y-%m-%d %H:%M:%S}"


def span(length: float) -> str:
    """Return a length of time in at most two units."""
    whole = round(length)
    if whole >= _MINUTE:
        return _two_units(whole)
    thousandths = max(round(length * 1000), 0)
    if thousandths < _THOUSAND:
        return f"{thousandths} ms"
    return f"{length:.1f} s" if length < _FINE and length != whole else f"{whole} s"


def _two_units(length: int) -> str:
    larger, smaller = next(pair for pair in _PAIRS if length >= pair[0][0])
    rest = length % larger[0] // smaller[0]
    first = f"{length // larger[0]} {larger[1]}"
    return f"{first} {rest} {smaller[1]}" if rest else first


def seconds(length: float) -> str:
    """Return a length of time that still grows, in whole seconds."""
    return span(round(length)) if length >= 1 else "0 s"


def distance(moment: float, now: float) -> str:
    """Return a moment as seen from now: ``in 12 s`` or ``3 min 5 s ago``."""
    return f"in {span(moment - now)}" if moment > now else f"{span(now - moment)} ago"


def size(count: int) -> str:
    """Return a number of bytes with a unit of thousands."""
    if count < _THOUSAND:
        return f"{count} B"
    amount, units = float(count), iter(_UNITS)
    unit = ""
    while round(amount, 1) >= _THOUSAND and (larger := next(units, "")):
        amount, unit = amount / _THOUSAND, larger
    return f"{amount:.1f} {unit}"


def plural(count: int, noun: str) -> str:
    """Return ``1 step`` or ``3 steps``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
