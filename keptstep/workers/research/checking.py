"""What can be said about sources before a task is submitted, and when nothing can be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from keptstep.models.errors import BadInput
from keptstep.workers.research.listing import MAX_FILES, Listing, absolute
from keptstep.workers.research.opening import MAX_SIZE
from keptstep.workers.research.records import Skipped
from keptstep.workers.research.showing import name_of

#: Sources and reasons named one by one in an error.
_NAMED = 3


def check_sources(sources: Iterable[str]) -> list[str]:
    """Return the sources as absolute paths and globs, each once, in the order given.

    For use before a task is submitted, because a worker may stand in another folder. Raises
    ``BadInput`` if there is none, for the first that is not there, and if there is nothing to
    read in any of them.
    """
    checked = list(dict.fromkeys(absolute(source) for source in sources))
    if not checked:
        raise BadInput("no source was given: name files, folders or globs to read")
    listing = Listing(MAX_SIZE, MAX_FILES)
    for source in checked:
        _check(source, listing)
    if not listing.found().files:
        raise BadInput(nothing_readable(checked, listing.found().skipped))
    return checked


def nothing_readable(sources: Sequence[str], skipped: Sequence[Skipped]) -> str:
    """Say in one line that there was nothing to read, and the first reasons why."""
    named = _some([name_of(source) for source in sources], ", ")
    why = _some([_because(one) for one in skipped], "; ")
    return f"no readable text in: {named}" + (f" ({why})" if why else "")


def _check(source: str, listing: Listing) -> None:
    """Look for something at a source, and for something to read until there is some."""
    empty = True
    for path in listing.paths(source):
        empty = False
        if listing.found().files:
            return
        listing.add_file(path)
    if empty and not os.path.isdir(source):
        raise BadInput(f"the source {name_of(source)} {listing.found().skipped[-1].why}")


def _because(one: Skipped) -> str:
    name = name_of(one.path)
    return one.why if one.why.startswith(name) else f"{name} {one.why}".strip()


def _some(items: list[str], between: str) -> str:
    rest = len(items) - _NAMED
    return between.join([*items[:_NAMED], *([f"and {rest} more"] if rest > 0 else [])])
