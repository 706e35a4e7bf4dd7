"""Telling that two passages say the same in nearly the same words."""

from __future__ import annotations

from keptstep.workers.research.words import split

_RUN = 4  #: words in a row that are compared
_ALIKE = 0.75  #: share of the shorter passage's runs that the longer one has too


def fingerprint(text: str) -> frozenset[tuple[str, ...]]:
    """Return the runs of words a passage is made of; a short one is one run."""
    words = tuple(split(text))
    runs = range(max(len(words) - _RUN + 1, 1))
    return frozenset(words[place : place + _RUN] for place in runs)


def alike(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    """Whether two fingerprints are of nearly the same text, or one is a part of the other."""
    shorter = min(len(one), len(other))
    return len(one & other) >= _ALIKE * shorter
