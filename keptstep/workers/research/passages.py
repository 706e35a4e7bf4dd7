"""Passages: the pieces of a source that can be quoted, each with its bytes in the file."""

from __future__ import annotations

from keptstep.workers.research.blocks import JOINED, LONGEST, Headings, Lines, Span, join, trimmed
from keptstep.workers.research.code import code_blocks
from keptstep.workers.research.decoding import Decoded, Encoding
from keptstep.workers.research.html import extract, html_blocks
from keptstep.workers.research.prose import prose_blocks
from keptstep.workflows.brains import Passage


def passages(source: Decoded, media: str) -> list[Passage]:
    """Cut a file's text into passages; ``media`` is the media type, which says how."""
    text = source.text
    lines = Lines(text)
    found: list[Passage] = []
    for span in _spans(text, lines, media):
        start, end = trimmed(text, span.start, span.end)
        if source.encoding.by_lines:
            start, end = lines.starts[lines.number(start) - 1], lines.ends[lines.number(end) - 1]
        first, last = source.byte_at(start), source.byte_at(end)
        form = _form(media, span)
        shown = as_read(source.data[first:last], source.encoding, form)
        if shown.strip():
            place = lines.number(start), lines.number(max(end - 1, start))
            found.append(Passage(first, last, *place, text=shown, context=span.context, form=form))
    return found


def as_read(data: bytes, encoding: Encoding, form: str) -> str:
    """Return the text of a passage from its bytes alone: how a quotation is compared."""
    text = encoding.decode(data)
    if form == "plain":
        return text
    return extract(text, pre=form == "pre")


def _form(media: str, span: Span) -> str:
    if media != "text/html":
        return "plain"
    return "pre" if span.pre else "html"


def _spans(text: str, lines: Lines, media: str) -> list[Span]:
    if media == "text/html":
        title, blocks = html_blocks(text)
        return list(join(blocks, Headings(title)))
    if media.startswith("text/x-"):
        return list(join(code_blocks(text, lines), Headings(), LONGEST))
    return list(join(prose_blocks(text, lines), Headings(), JOINED))
