"""The visible text of HTML, and the stretches of it that can be quoted.

The standard library's parser takes quadratic time on hostile pages (half a minute for 50 kB of
``<a <a <a``), so the page is scanned here in one pass, by the tokenizer's rules of the HTML
standard in so far as they decide what is text: comments, tags with quoted attributes, elements
whose content is not markup. A construct that never ends swallows the rest, as in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from keptstep.workers.research.blocks import LONGEST, Block, cut
from keptstep.workers.research.stopwords import listed

_TAG = re.compile(
    r"""<(/?)([a-zA-Z][^\s/>]*+)(?:[^>=]|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>""",
)
_NOT_TEXT = frozenset({"script", "style", "template", "iframe", "noembed", "noframes", "xmp"})
_BREAKS = listed(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main "
    "menu nav ol option p pre section select summary table tbody tfoot thead title tr ul"
)
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\r\n\f]+")
_LINE_END = re.compile(r"\r\n|\n|\r")
#: What begins a section, and how deep; a term of a list of definitions is the deepest.
_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "dt": 7}
_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_OPENS_TAG = re.compile(r"</?[a-zA-Z]")
_LONGEST_REFERENCE = 40  #: characters of a character reference such as &amp;


class Token(NamedTuple):
    """A stretch of a page: text (no name), or the tag that opens or closes an element."""

    start: int
    end: int
    name: str = ""
    closing: bool = False


def tokens(page: str) -> Iterator[Token]:
    """Yield the page's text and tags in order; comments, scripts and styles are left out."""
    place = 0
    while place < len(page):
        markup = _MARKUP.search(page, place)
        opened = markup.start() if markup else len(page)
        if opened > place:
            yield Token(place, opened)
        if not markup:
            return
        tag = _TAG.match(page, opened)
        if tag is None:
            place = _after_no_tag(page, opened)
            continue
        name = tag.group(2).lower()
        yield Token(opened, tag.end(), name, bool(tag.group(1)))
        place = tag.end()
        if name in _NOT_TEXT and not tag.group(1):
            place = _end_of(page, name, place)


def extract(page: str, pre: bool = False) -> str:
    """Return the text a reader sees, a line for each block; ``pre`` keeps its white space.

    ``pre`` says that the piece begins inside a ``pre`` element.
    """
    lines: list[str] = []
    line = ""
    for token in tokens(page):
        if not token.name:
            line += unescape(page[token.start : token.end])
        elif token.name in _BREAKS:
            lines += _finished(line, pre)
            line = ""
        elif token.name in _CELLS and not token.closing and line.strip():
            line += " | "
        if token.name == "pre":
            pre = not token.closing
    lines += _finished(line, pre)
    return "\n".join(lines).strip("\n")


def html_blocks(page: str) -> tuple[str, list[Block]]:
    """Return the page's title and its blocks in order, long ones cut."""
    builder = _Blocks(page)
    for token in tokens(page):
        builder.take(token)
    builder.finish()
    return builder.title, builder.blocks


class _Blocks:
    """Collects the text between two block tags."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.title = ""
        self.blocks: list[Block] = []
        self._held: list[Block] = []
        self._size = 0
        self._pre = False
        self._level = 0
        self._ended = False  # a list of definitions, and so the section of its last term
        self._in_title = False

    def take(self, token: Token) -> None:
        """Go one token on."""
        if not token.name:
            self._text(token)
            return
        if token.name in _BREAKS:
            self.finish()
        if token.name == "pre":
            self._pre = not token.closing
        elif token.name == "title":
            self._in_title = not token.closing
        elif token.name in _LEVELS:
            self._level = 0 if token.closing else _LEVELS[token.name]
        elif token.name == "dd":
            self._level = 0
        elif token.name == "dl":
            self._ended = token.closing

    def finish(self) -> None:
        """End the block that is open."""
        if self._held:
            start, end = self._held[0].start, self._held[-1].end
            title = extract(self.page[start:end]) if self._level else ""
            level = self._level or (_LEVELS["dt"] if self._ended else 0)
            self._ended = False
            self.blocks.append(
                Block(start, end, self._size, level, title, bool(title), pre=self._pre)
            )
        self._held, self._size = [], 0

    def _text(self, token: Token) -> None:
        start, end = token.start, token.end
        text = self.page[start:end]
        if not text.strip() and not self._held:
            return
        if self._in_title:
            self.title = self.title or extract(text)
            return
        if not self._held and not self._pre:
            start += len(text) - len(text.lstrip())
        if not text.strip():
            return
        end -= len(text) - len(text.rstrip())
        size = len(_SPACE.sub(" ", unescape(self.page[start:end])))
        for piece in cut(Block(start, end, size), self.page, self._before_reference):
            if self._size + piece.size > LONGEST:
                self.finish()
            self._held.append(piece)
            self._size += piece.size

    def _before_reference(self, place: int) -> int:
        """Move a cut out of a character reference, to its left."""
        begun = self.page.rfind("&", place - _LONGEST_REFERENCE, place)
        return begun if begun > 0 and ";" not in self.page[begun:place] else place


def _finished(line: str, pre: bool) -> list[str]:
    if pre:
        return [part.rstrip() for part in _LINE_END.split(line)]
    folded = _SPACE.sub(" ", line).strip()
    return [folded] if folded else []


def _after_no_tag(page: str, opened: int) -> int:
    """Return where a comment, a declaration or a tag without an end is over."""
    if page.startswith("<!--", opened):
        end = page.find("-->", opened + 2)
        return len(page) if end < 0 else end + 3
    end = -1 if _OPENS_TAG.match(page, opened) else page.find(">", opened)
    return len(page) if end < 0 else end + 1


def _end_of(page: str, name: str, place: int) -> int:
    """Return where the content of an element that holds no markup ends."""
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, place)
    return found.start() if found else len(page)
