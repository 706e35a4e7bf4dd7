"""What a report rests on: quotations that were reopened and compared, and those left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from keptstep.workers.research.likeness import alike, fingerprint
from keptstep.workers.research.records import Failure, Found, Note, Source
from keptstep.workers.research.verifying import Verifier
from keptstep.workflows.brains import Passage, Quote


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a report is written from."""

    question: str
    found: Found
    notes: Sequence[Note]
    failures: Sequence[Failure]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quotation stands."""

    source: Source
    passage: Passage


@dataclass(slots=True)
class Extract:
    """A quotation that stands, and where else nearly the same is said."""

    place: Place
    also: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A quotation that does not stand any more, and why."""

    place: Place
    why: str


@dataclass(frozen=True, slots=True)
class Examined:
    """The quotations after each was reopened."""

    extracts: list[Extract]
    left_out: list[LeftOut]
    changed: frozenset[str]  #: paths of quoted files that are others now than were read


def examine(quotes: Sequence[Quote], notes: Sequence[Note], most: int) -> Examined:
    """Reopen quotations in their order, put those alike together, and keep the first ``most``."""
    verifier = Verifier()
    extracts: list[Extract] = []
    prints: list[frozenset[tuple[str, ...]]] = []
    left_out: list[LeftOut] = []
    for quote in quotes:
        place = Place(notes[quote.material].source, quote.passage)
        mine = fingerprint(place.passage.text)
        same = next((n for n, known in enumerate(prints) if alike(known, mine)), None)
        if same is None and len(extracts) == most:
            continue
        fault = verifier.fault(place.source, place.passage)
        if fault is not None:
            left_out.append(LeftOut(place, fault))
        elif same is not None:
            extracts[same].also.append(place)
        else:
            extracts.append(Extract(place))
            prints.append(mine)
    quoted = [place.source for one in extracts for place in (one.place, *one.also)]
    changed = frozenset(source.path for source in quoted if verifier.changed(source))
    return Examined(extracts, left_out, changed)
