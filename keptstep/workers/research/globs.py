"""Globs over paths: ``*`` and ``?`` inside one name, ``**`` over any number of folders."""

from __future__ import annotations

import os
import re

from keptstep.models.errors import BadInput
from keptstep.workers.research.showing import name_of

_MAGIC = re.compile(r"[*?\[]")


def has_magic(path: str) -> bool:
    """Whether a path has characters that mean something in a glob."""
    return bool(_MAGIC.search(path))


def base_and_pattern(path: str) -> tuple[str, re.Pattern[str]]:
    """Return the folder to look below, and what paths relative to it have to match.

    A glob that matches a folder takes all below it. Raises ``BadInput``.
    """
    parts = path.split(os.sep)
    plain = next(place for place, part in enumerate(parts) if has_magic(part))
    base = os.sep.join(parts[:plain]) or os.sep
    regex = "".join(_part(part) for part in parts[plain:]).removesuffix("/")
    ending = r".+\Z" if parts[-1] == "**" else r"(?:/.*)?\Z"
    try:
        return base, re.compile(regex + ending, re.DOTALL)
    except re.error:
        raise BadInput(f"the glob {name_of(path)} is wrong: look at its [brackets]") from None


def _part(part: str) -> str:
    if part == "**":
        return "(?:[^/]+/)*"
    regex = ""
    place = 0
    while place < len(part):
        if part[place] == "*":
            regex += "[^/]*"
        elif part[place] == "?":
            regex += "[^/]"
        elif part[place] == "[" and (end := part.find("]", place + 2)) > 0:
            regex += _one_of(part[place + 1 : end])
            place = end
        else:
            regex += re.escape(part[place])
        place += 1
    return regex + "/"


def _one_of(listed: str) -> str:
    """Return the class for what stands in brackets; ``!`` at the beginning turns it round."""
    negated = listed[0] in "!^"
    body = listed[1:] if negated else listed
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", body)
    return f"[{'^' if negated else ''}{body}]"
