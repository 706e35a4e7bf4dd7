"""Words: what a text is compared by. Identifiers come apart, endings come off."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from keptstep.workers.research.stemming import stem
from keptstep.workers.research.stopwords import STOP, STOP_KOREAN

#: Scripts written without spaces, or whose words take endings no stemmer here knows: a run of
#: them counts as its overlapping pairs of characters.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff\u3130-\u318f"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_PAIRED}]+|[^\W_{_PAIRED}]+")
_IS_PAIRED = re.compile(rf"[{_PAIRED}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONG_PART = 2
_LONGEST = 64  #: characters of a word; what is longer is data, not language


@dataclass(frozen=True, slots=True)
class Term:
    """One thing looked for: the form it is compared by, and how the question wrote it."""

    stem: str
    word: str


def stems(text: str) -> Iterator[str]:
    """Yield the comparable form of every word of a text, in order."""
    for word in split(text):
        yield stem(word)


def split(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case; ``maxRetries`` and ``max_retries`` are two."""
    for run in _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        if run.isascii() and run.islower() and len(run) <= _LONGEST:
            yield run
        elif _IS_PAIRED.match(run):
            yield from pairs(run)
        elif len(run) <= _LONGEST:
            yield from _parts(run)


def _parts(run: str) -> Iterator[str]:
    """Yield the words of an identifier; what would leave single letters, as NaN, is one."""
    parts = _CAMEL.split(run)
    if min(map(len, parts)) > 1:
        yield from (part.casefold() for part in parts)
        return
    yield run.casefold()
    yield from (part.casefold() for part in parts if len(part) > _LONG_PART)


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run of characters, or its only character."""
    return [run[place : place + 2] for place in range(max(len(run) - 1, 1))]


def terms(question: str) -> list[Term]:
    """Return what to look for, without the words a question is asked with.

    A question of nothing but such words is looked for as it stands.
    """
    text = unicodedata.normalize("NFKC", question)
    spoken = STOP_KOREAN.sub(" ", text)
    chosen = [word for word in split(spoken) if word not in STOP and not _is_ending(word)]
    found = {stem(word): word for word in reversed(chosen or list(split(text)))}
    return [Term(form, word) for form, word in reversed(found.items())]


def _is_ending(word: str) -> bool:
    """Whether a word is one Hangul or Kana syllable: a particle, cut off what it belonged to."""
    return len(word) == 1 and bool(re.match("[\u3040-\u30ff\uac00-\ud7a3]", word))
