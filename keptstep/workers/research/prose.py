"""Blocks of plain text, Markdown and reStructuredText: paragraphs under headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keptstep.workers.research.blocks import Block, Lines, cut

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_UNDERLINE = re.compile(r"([=\-~^\"*+#_:.'`])\1{2,}[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_HEADING = 120


def prose_blocks(text: str, lines: Lines) -> Iterator[Block]:
    """Yield headings and paragraphs in order; a paragraph that is too long comes in pieces."""
    adornments: list[str] = []
    for first, last in _paragraphs(text, lines):
        start, end = lines.starts[first], lines.ends[last]
        heading = _heading(text, lines, first, last, adornments)
        if heading is None:
            yield from cut(Block(start, end, end - start), text)
            continue
        level, title, taken = heading
        end = lines.ends[first + taken - 1]
        yield Block(start, end, end - start, level, title, bare=True)
        if first + taken <= last:
            start, end = lines.starts[first + taken], lines.ends[last]
            yield from cut(Block(start, end, end - start), text)


def _paragraphs(text: str, lines: Lines) -> Iterator[tuple[int, int]]:
    """Yield first and last line of every run of lines that are not blank.

    A Markdown heading begins a run; blank lines inside a code fence do not end one.
    """
    first: int | None = None
    fence = ""
    for number, (start, end) in enumerate(lines):
        line = text[start:end]
        blank = not line.strip() and not fence
        if first is not None and (blank or (not fence and _ATX.match(line[:_LONGEST_HEADING]))):
            yield first, number - 1
            first = None
        if first is None and not blank:
            first = number
        fence = _fence_after(line, fence)
    if first is not None:
        yield first, len(lines) - 1


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after this line: "" for none."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match.group(1)
    closes = match.group(1).startswith(fence) and not line[match.end() :].strip()
    return "" if closes else fence


def _heading(
    text: str, lines: Lines, first: int, last: int, adornments: list[str]
) -> tuple[int, str, int] | None:
    """Return level, title and number of lines of the heading a run begins with."""
    if lines.ends[first] - lines.starts[first] > _LONGEST_HEADING:
        return None
    top = text[lines.starts[first] : lines.ends[first]]
    atx = _ATX.match(top)
    if atx:
        return len(atx.group(1)), atx.group(2), 1
    rows = [text[lines.starts[n] : lines.ends[n]] for n in range(first, min(last, first + 2) + 1)]
    match [bool(_UNDERLINE.match(row)) for row in rows]:
        case [True, False, True]:
            return _level(rows[0][0] * 2, adornments), rows[1].strip(), 3
        case [False, True, *_]:
            return _level(rows[1][0], adornments), rows[0].strip(), 2
        case _:
            return None


def _level(adornment: str, adornments: list[str]) -> int:
    """Return the level of an underlined heading: the order in which its mark first came."""
    if adornment not in adornments:
        adornments.append(adornment)
    return adornments.index(adornment) + 1
