"""BM25 over all sources at once, from the counts that each source's note leaves.

An index of one source would weigh words by that source alone: in a file about retries the word
"retry" weighs nothing, and scores of two files could not be compared. So a note only counts, and
the weighing waits for the counts of all.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keptstep.workers.research.related import related, stand_ins
from keptstep.workers.research.words import Term, stems
from keptstep.workflows.brains import Passage

_K1 = 1.4  #: how soon a word's repetition stops to matter
_B = 0.5  #: how much a passage's length counts against it
_SHORTEST = 20  #: words: shorter passages are not favoured for being short
_UNDER = 0.5  #: a word in the headings, as a share of one in the text
_NAMED = 0.6  #: a word in the file's name
_RELATED = 0.5  #: a related word
_WHOLE = 0.5  #: how much it counts that all words of the question are there
_NAMES = 0.4  #: what is left for a passage that lists names: imports, exports

_NAME = re.compile(
    r"\s*(?:(?:import|from|use|using|#\s*include|package|require)\b|[\"'][\w.]+[\"'],\s*$)"
)
_MANY_NAMES = 0.4  #: share of a passage's lines that makes it such a list


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: the question's terms, and the words related to them."""

    terms: Sequence[Term]
    related: Mapping[str, str]  #: stem -> word

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Query:
        """Add the related words to a question's terms."""
        return cls(terms, related(term.stem for term in terms))

    @property
    def weights(self) -> dict[str, float]:
        """How much each stem counts."""
        asked = {term.stem: 1.0 for term in self.terms}
        return asked | dict.fromkeys(self.related, _RELATED)


@dataclass(frozen=True, slots=True)
class Counts:
    """How often what is looked for occurs in one passage. Plain, so that a note can keep it."""

    within: dict[str, int]  #: stem -> times in the text
    under: list[str]  #: stems in the headings it stands under
    length: int  #: words
    names: bool = False  #: lists names rather than says something of them


@dataclass(slots=True)
class Totals:
    """The same over many passages."""

    passages: int = 0
    length: int = 0
    containing: dict[str, int] = field(default_factory=dict)  #: stem -> passages it occurs in

    def add(self, other: Totals) -> None:
        """Add another source's totals."""
        self.passages += other.passages
        self.length += other.length
        for stem, number in other.containing.items():
            self.containing[stem] = self.containing.get(stem, 0) + number

    def rarity(self, stem: str) -> float:
        """Return BM25's inverse document frequency, the passages being the documents."""
        containing = self.containing.get(stem, 0)
        return math.log(1 + (self.passages - containing + 0.5) / (containing + 0.5))


def count(passage: Passage, query: Query) -> Counts:
    """Count what is looked for in one passage."""
    wanted = query.weights
    words = list(stems(passage.text))
    within = Counter(word for word in words if word in wanted)
    under = {word for word in stems(passage.context) if word in wanted}
    lines = [line for line in passage.text.splitlines() if line.strip()]
    names = sum(bool(_NAME.match(line)) for line in lines) > _MANY_NAMES * len(lines)
    return Counts(dict(sorted(within.items())), sorted(under), len(words), names)


def total(counted: Iterable[Counts]) -> Totals:
    """Add up the counts of a source's passages."""
    totals = Totals()
    containing: Counter[str] = Counter()
    for counts in counted:
        totals.passages += 1
        totals.length += max(counts.length, _SHORTEST)
        containing.update({*counts.within, *counts.under})
    totals.containing = dict(sorted(containing.items()))
    return totals


def named(path: str, query: Query) -> frozenset[str]:
    """Return what is looked for and occurs in a file's name."""
    name = os.path.splitext(os.path.basename(path))[0]
    return frozenset(word for word in stems(name) if word in query.weights)


def score(counts: Counts, name: frozenset[str], totals: Totals, query: Query) -> float:
    """Return how well a passage fits the question; 0 if none of its words is there.

    Each word of the question counts once: itself, or the best of those that may stand for it.
    """
    average = totals.length / max(totals.passages, 1)
    slope = _K1 * (1 - _B + _B * max(counts.length, _SHORTEST) / max(average, 1))
    gains: dict[str, float] = {}
    for stem, weight in query.weights.items():
        times = counts.within.get(stem, 0) + _UNDER * (stem in counts.under)
        times += _NAMED * (stem in name)
        gains[stem] = weight * totals.rarity(stem) * times * (_K1 + 1) / (times + slope)
    summed = 0.0
    for term in query.terms:
        forms = [term.stem, *(stand_ins(term.stem) & query.related.keys())]
        summed += max(gains[form] for form in forms)
    whole = 1 - _WHOLE + _WHOLE * _share(counts, name, totals, query)
    return summed * whole * (_NAMES if counts.names else 1)


def _share(counts: Counts, name: frozenset[str], totals: Totals, query: Query) -> float:
    """Return how much of the question a passage touches, rare words counting for more."""
    here = {*counts.within, *counts.under, *name}
    known = touched = 0.0
    for term in query.terms:
        if not totals.containing.get(term.stem):
            continue
        rarity = totals.rarity(term.stem)
        known += rarity
        if term.stem in here:
            touched += rarity
        elif stand_ins(term.stem) & here:
            touched += _RELATED * rarity
    return touched / known if known else 0.0
