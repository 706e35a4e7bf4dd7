"""The brain that needs no key and no network: it ranks passages and quotes them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from keptstep.workers.research.ranking import Counts, Query, Totals, count, named, score, total
from keptstep.workers.research.words import terms
from keptstep.workflows.brains import Answer, Passage, Purpose, Quote, Turn

#: Passages noted for a single word, so that none is lost to the common ones.
_PER_WORD = 3
#: Extracts of one source before those of others are preferred.
_PER_SOURCE = 3
#: What scores below this share of the best is not worth reading.
_WORTH = 0.5


class Extractive:
    """Quotes the passages whose words fit the question best, and writes nothing itself."""

    label = (
        "Extracts, not an answer: a program ranked the passages of the sources by how well their "
        "words fit the question, and quotes them as they stand. No model chose, wrote or checked "
        "anything here."
    )

    def turn(self, turn: Turn) -> Answer:
        """Rank what one source says, or what all notes hold."""
        query = Query.of(terms(turn.question))
        if turn.purpose is Purpose.NOTE:
            return _note(turn, query)
        return _report(turn, query)


def _note(turn: Turn, query: Query) -> Answer:
    [material] = turn.materials
    counted = [(passage, count(passage, query)) for passage in material.passages]
    totals = total(counts for _, counts in counted)
    chosen = _chosen(counted, query, turn.limit)
    memory = {
        "totals": dataclasses.asdict(totals),
        "counts": [dataclasses.asdict(counted[place][1]) for place in chosen],
    }
    return Answer([Quote(0, counted[place][0]) for place in chosen], memory=memory)


def _chosen(counted: list[tuple[Passage, Counts]], query: Query, limit: int) -> list[int]:
    """Return the places of the passages worth noting, in the order of the file.

    How rare a word is over all sources is not known here, so all words weigh the same, and the
    passages that have most of any one word are noted as well.
    """
    asked = [term.stem for term in query.terms]
    weights = query.weights

    def fits(place: int) -> tuple[float, int]:
        within = counted[place][1].within
        return -sum(weights[stem] * n / (n + 1) for stem, n in within.items()), place

    some = [place for place, (_, counts) in enumerate(counted) if counts.within or counts.under]
    chosen = set(sorted(some, key=fits)[:limit])
    for stem in asked:
        having = [place for place in some if stem in counted[place][1].within]
        having.sort(key=lambda place: (-counted[place][1].within[stem], fits(place)))
        chosen |= set(having[:_PER_WORD])
    return sorted(chosen)


def _report(turn: Turn, query: Query) -> Answer:
    totals = Totals()
    for material in turn.materials:
        totals.add(_totals(material.memory))
    scored: list[tuple[float, int, Passage]] = []
    for number, material in enumerate(turn.materials):
        name = named(material.source, query)
        for passage, raw in zip(material.passages, material.memory["counts"], strict=True):
            fit = score(Counts(**raw), name, totals, query)
            scored.append((round(-fit, 9), number, passage))
    scored.sort(key=lambda one: (one[0], one[1], one[2].start))
    best = scored[0][0] if scored else 0.0
    worth = [one for one in scored if one[0] < 0 and one[0] <= best * _WORTH]
    quotes = [Quote(number, passage) for _, number, passage in _spread(worth)]
    return Answer(quotes[: turn.limit], remarks=_remarks(query, totals))


def _spread(scored: list[tuple[float, int, Passage]]) -> list[tuple[float, int, Passage]]:
    """Put what a source has beyond its share behind the others."""
    taken: Counter[int] = Counter()
    first: list[tuple[float, int, Passage]] = []
    later: list[tuple[float, int, Passage]] = []
    for one in scored:
        taken[one[1]] += 1
        (first if taken[one[1]] <= _PER_SOURCE else later).append(one)
    return first + later


def _totals(memory: Any) -> Totals:
    return Totals(**memory["totals"])


def _remarks(query: Query, totals: Totals) -> list[str]:
    """Say what was looked for, and what is in no source."""
    there = [term.word for term in query.terms if totals.containing.get(term.stem)]
    missing = [term.word for term in query.terms if not totals.containing.get(term.stem)]
    beside = [word for stem, word in query.related.items() if totals.containing.get(stem)]
    remarks = []
    if there:
        also = f"; counting for half: {', '.join(beside)}" if beside else ""
        remarks.append(f"Words looked for: {', '.join(there)}{also}.")
    if missing:
        remarks.append(f"In no source: {', '.join(missing)}.")
    return remarks
