"""Blocks of a text, and how they are joined and cut into passages of a size to quote."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

#: Neighbours under one heading are joined up to this many characters.
JOINED = 800
#: A block longer than this is cut.
LONGEST = 1400
_LINE_END = re.compile(r"\r\n|\n|\r")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")
_TITLE = 80  #: characters of a heading that are kept


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a text, in characters: a paragraph, a heading, a function.

    ``size`` is its length as it will be read, which is shorter than the stretch for HTML.
    """

    start: int
    end: int
    size: int
    level: int = 0  #: of the section that begins here, from 1; 0 if none does
    title: str = ""  #: of that section
    bare: bool = False  #: is a heading and nothing else, so it goes with what follows
    pre: bool = False  #: its white space is kept (HTML)


@dataclass(frozen=True, slots=True)
class Span:
    """Blocks joined to one passage, and the headings it stands under."""

    start: int
    end: int
    context: str = ""
    pre: bool = False


class Lines:
    """Where the lines of a text begin and end, in characters, without their line ends."""

    def __init__(self, text: str) -> None:
        ends = [match.span() for match in _LINE_END.finditer(text)]
        self.starts = [0, *(after for _, after in ends)]
        self.ends = [*(before for before, _ in ends), len(text)]

    def __len__(self) -> int:
        """Return the number of lines, the last one included even if it is empty."""
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of every line."""
        return iter(zip(self.starts, self.ends, strict=True))

    def number(self, character: int) -> int:
        """Return the number, from 1, of the line a character stands in."""
        return bisect_right(self.starts, character)


class Headings:
    """The headings a place in a document stands under, outermost first."""

    def __init__(self, title: str = "") -> None:
        self._open: list[tuple[int, str]] = [(0, title_line(title))] if title else []

    def enter(self, level: int, title: str) -> None:
        """Begin a section, which ends those of its level and below."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, title_line(title)))

    def __str__(self) -> str:
        """Return all of them as one line."""
        return " > ".join(dict.fromkeys(title for _, title in self._open if title))


def title_line(text: str) -> str:
    """Fold white space and cut a heading to a length that can be shown."""
    folded = " ".join(text.split())
    return folded if len(folded) <= _TITLE else folded[: _TITLE - 1] + "…"


def join(blocks: Iterable[Block], headings: Headings, joined: int = JOINED) -> Iterator[Span]:
    """Join neighbouring blocks of one section to spans of about ``joined`` characters."""
    held: list[Block] = []
    context = ""
    for block in blocks:
        size = sum(item.size for item in held)
        bare = all(item.bare for item in held)
        if held and (size > joined if bare else block.level or size + block.size > joined):
            yield _span(held, context)
            held, bare = [], True
        if block.level:
            headings.enter(block.level, block.title)
        if bare:
            context = str(headings)
        held.append(block)
    if held:
        yield _span(held, context)


def cut(block: Block, text: str, safe: Callable[[int], int] = lambda place: place) -> list[Block]:
    """Cut a block that is too long: between lines, sentences or words, or where it must be.

    ``safe`` moves a cut inside a word to the left, to where one is allowed.
    """
    if block.size <= LONGEST:
        return [block]
    pieces: list[Block] = []
    start, share = block.start, block.size / max(block.end - block.start, 1)
    while (block.end - start) * share > LONGEST:
        window = text[start : start + max(int(LONGEST / share), 1)]
        place = start + _cut_in(window)
        if place == start + len(window):
            place = max(safe(place), start + 1)
        pieces.append(_part(block, start, place, share))
        start = place
    return [*pieces, _part(block, start, block.end, share)]


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Take blank lines off both ends of a stretch, and white space off its end."""
    while end > start and text[end - 1].isspace():
        end -= 1
    begin = start
    while begin < end and text[begin].isspace():
        if text[begin] in "\r\n":
            start = begin + 1
        begin += 1
    return start, end


def _cut_in(window: str) -> int:
    """Return the best place to cut: the last good one in the second half of the window."""
    half = len(window) // 2
    line = max(window.rfind("\n", half), window.rfind("\r", half))
    if line > 0:
        return line + 1
    sentences = [match.end() for match in _SENTENCE_END.finditer(window, half) if match.end()]
    if sentences:
        return sentences[-1]
    spaces = [match.end() for match in re.finditer(r"\s+", window[half:])]
    return half + spaces[-1] if spaces else len(window)


def _part(block: Block, start: int, end: int, share: float) -> Block:
    return replace(block, start=start, end=end, size=int((end - start) * share))


def _span(held: Sequence[Block], context: str) -> Span:
    return Span(held[0].start, held[-1].end, context, held[0].pre)
