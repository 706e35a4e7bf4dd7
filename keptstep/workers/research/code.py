"""Blocks of source code, in any language: definitions with their comments and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from keptstep.workers.research.blocks import Block, Lines, cut
from keptstep.workers.research.stopwords import listed

_WORDS_BEFORE = listed(
    "export default declare public private protected internal static final abstract async pub "
    "unsafe inline virtual override const open sealed data partial extern"
)
_DEFINES = listed(
    "def class func fun function fn interface struct enum trait impl module namespace record "
    "protocol sub proc macro_rules! object"
)
_DEFINITION = re.compile(
    rf"\s*+(?:(?:{'|'.join(sorted(_WORDS_BEFORE))})\b(?:\([^)]*\))?\s+)*+"
    rf"(?:{'|'.join(map(re.escape, sorted(_DEFINES)))})[ \t*(]"
)
#: Words that stand before a bracket at the left edge and define nothing.
_STATEMENTS = listed(
    "assert await case catch delete do echo elif else export for from if import let new print "
    "raise return set switch throw try typedef using var while with yield"
)
#: A function in the manner of C: at the left edge, a type, a name, parameters, no semicolon.
_C_FUNCTION = re.compile(
    rf"(?!(?:{'|'.join(sorted(_STATEMENTS))})\b)[A-Za-z_][\w:<>,*&~]*+(?:[ \t]++[\w:<>,*&~]++)++"
    r"[ \t]*\([^;={}]*(?:\)[\w \t]*\{?|,)\s*$"
)
#: What stands above a definition and belongs to it: decorators, attributes, comments.
_BELONGS = re.compile(r"\s*+(?:@|#|//|/\*|\*|\[|--|;;|<!--)")
_LONG_RUN = 3  #: line ends of a run that is a passage by itself
_LOOKED_AT = 300  #: characters of a line


def code_blocks(text: str, lines: Lines) -> Iterator[Block]:
    """Yield definitions and the runs of lines between blank lines, in order.

    A definition opens a section as deep as its indentation; a line further to the left than
    the section's body closes it.
    """
    open_indents: list[int] = []
    past_alone = False  # outside definitions, imports, tables and the licence stay by themselves
    for first, last in _runs(text, lines):
        start, end = lines.starts[first], lines.ends[last]
        block = Block(start, end, end - start)
        indent = _indent(text[start:end])
        header = _header(text, lines, first, last)
        closes = bool(open_indents) and indent <= open_indents[-1]
        if header or closes:
            open_indents = [known for known in open_indents if known < indent]
            block = replace(block, level=indent + 1, title=header)
        if header:
            open_indents.append(indent)
        alone = not open_indents and (
            last - first >= _LONG_RUN or (first == 0 and _is_comment(text, lines, last))
        )
        if not header and (alone or past_alone):
            block = replace(block, level=1)
        past_alone = alone
        head, *rest = cut(block, text)
        yield head
        yield from (replace(piece, level=0, title="") for piece in rest)


def _runs(text: str, lines: Lines) -> Iterator[tuple[int, int]]:
    """Yield first and last line of every run; a definition begins one, with what is above it."""
    first: int | None = None
    for number, (start, end) in enumerate(lines):
        line = text[start : min(end, start + _LOOKED_AT)]
        blank = not line.strip() and end - start <= _LOOKED_AT
        if first is not None and blank:
            yield first, number - 1
            first = None
        elif first is not None and _defines(line):
            above = _above(text, lines, first, number)
            if above > first:
                yield first, above - 1
                first = above
        elif first is None and not blank:
            first = number
    if first is not None:
        yield first, len(lines) - 1


def _above(text: str, lines: Lines, first: int, number: int) -> int:
    """Return the first of the lines above a definition that belong to it."""
    while number > first and _BELONGS.match(_line(text, lines, number - 1)):
        number -= 1
    return number


def _header(text: str, lines: Lines, first: int, last: int) -> str:
    """Return the line that defines something, if the run begins with one, else ""."""
    for number in range(first, min(last, first + 40) + 1):
        line = _line(text, lines, number)
        if _defines(line):
            return line.strip().rstrip("({: ")
        if not _BELONGS.match(line):
            return ""
    return ""


def _defines(line: str) -> bool:
    return bool(_DEFINITION.match(line) or _C_FUNCTION.match(line))


def _is_comment(text: str, lines: Lines, last: int) -> bool:
    """Whether all lines up to this one are comments."""
    return all(_BELONGS.match(_line(text, lines, number)) for number in range(last + 1))


def _line(text: str, lines: Lines, number: int) -> str:
    start = lines.starts[number]
    return text[start : min(lines.ends[number], start + _LOOKED_AT)]


def _indent(text: str) -> int:
    """Return how far the first line is indented; a tab goes to the next multiple of 8."""
    line = text[: len(text) - len(text.lstrip(" \t"))].expandtabs(8)
    return len(line)
