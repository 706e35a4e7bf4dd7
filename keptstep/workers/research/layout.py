"""How a report looks: Markdown in which what the sources say stays inert."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from keptstep.workers.research.evidence import Evidence, Examined, Extract, Place
from keptstep.workers.research.records import Note, Source
from keptstep.workers.research.showing import code, escaped, fenced, folded, name_of, visible
from keptstep.workflows.brains import Answer

#: Sources listed one by one for each reason why they were not read.
_LISTED = 20
#: Characters of a question that make a heading.
_HEADING = 200


def document(evidence: Evidence, label: str, answer: Answer, examined: Examined) -> str:
    """Return the whole report."""
    numbers = _numbers(examined)
    return (
        "\n\n".join(
            [
                *_question(evidence.question),
                f"> {label}",
                _summary(evidence, answer, examined),
                *_extracts(evidence, examined, numbers),
                *_left_out(examined),
                *_read(evidence, examined, numbers),
                *_not_read(evidence),
            ]
        )
        + "\n"
    )


def _question(question: str) -> Iterator[str]:
    yield f"# {escaped(folded(question, _HEADING))}"
    if len(question) > _HEADING or "\n" in question.strip():
        yield fenced(question.strip())


def _summary(evidence: Evidence, answer: Answer, examined: Examined) -> str:
    """Say in one paragraph what was done."""
    cited = {one.place.source.path for one in examined.extracts}
    unread = len(evidence.failures) + len(evidence.found.skipped)
    counts = (
        f"{_many(len(examined.extracts), 'extract')} from {_many(len(cited), 'source')}; "
        f"{_many(len(evidence.notes), 'source')} read, {unread or 'none'} not read."
    )
    return " ".join([counts, *map(escaped, answer.remarks)])


def _extracts(evidence: Evidence, examined: Examined, numbers: dict[str, int]) -> Iterator[str]:
    if not examined.extracts:
        yield "## Nothing to quote"
        yield (
            "No passage that fits the question still stands in its file."
            if examined.left_out
            else "No passage of the sources has the words of the question."
        )
        return
    yield "## Extracts, most relevant first"
    root = _root(evidence.notes)
    for number, one in enumerate(examined.extracts, 1):
        yield from _extract(number, one, numbers, root)
    if any(visible(one.place.passage.text) != _plain(one) for one in examined.extracts):
        yield r"Characters that cannot be seen are written out, as in `\x1b` or `\u202e`."


def _extract(number: int, one: Extract, numbers: dict[str, int], root: str) -> Iterator[str]:
    source, passage = one.place.source, one.place.passage
    yield f"### {number}. {code(_short(source.path, root))}"
    citation = _cited(one.place, numbers)
    inmost = passage.context.rpartition(" > ")[2].rstrip("…")
    if passage.context and inmost not in " ".join(passage.text[: len(inmost) + 20].split()):
        citation += f", under {code(passage.context)}"
    yield citation
    yield fenced(passage.text.strip("\r\n"))
    if one.also:
        places = [_cited(place, numbers) for place in one.also[:_LISTED]]
        more = len(one.also) - _LISTED
        yield f"Nearly the same: {'; '.join(places)}{f'; and {more} more' if more > 0 else ''}"


def _left_out(examined: Examined) -> Iterator[str]:
    if examined.left_out:
        yield "## Left out"
        yield "These were noted, and did not stand when they were reopened:"
        yield _list(
            f"{code(name_of(one.place.source.path))}, {_span(one.place)}: {escaped(one.why)}"
            for one in examined.left_out
        )


def _read(evidence: Evidence, examined: Examined, numbers: dict[str, int]) -> Iterator[str]:
    root = _root(evidence.notes)
    yield "## Sources"
    yield (
        "Every quotation was reopened in its file, at the bytes given, and compared before this "
        "report was kept. Bytes count from 0, and the last is not included. All sources are below "
        f"{code(name_of(root))}."
    )
    by_path = {note.source.path: note.source for note in evidence.notes}
    order = sorted(by_path, key=lambda path: (numbers.get(path, len(by_path) + 1), path))
    rows = ["| | Source | Extracts | Read as | Bytes | SHA-256 |", "|--:|---|--:|---|--:|---|"]
    rows += [_row(by_path[path], examined, numbers, root) for path in order]
    yield "\n".join(rows)


def _row(source: Source, examined: Examined, numbers: dict[str, int], root: str) -> str:
    quoted = sum(one.place.source.path == source.path for one in examined.extracts)
    number = numbers.get(source.path)
    state = "; changed since" if source.path in examined.changed else ""
    state += "; was being written to" if source.changing else ""
    return (
        f"| {f'[{number}]' if number else ''} | {code(_short(source.path, root))} "
        f"| {quoted or ''} | {source.encoding}{state} | {source.size} | `{source.sha256}` |"
    )


def _not_read(evidence: Evidence) -> Iterator[str]:
    """List what was not read, by reason, the long lists cut."""
    reasons: dict[str, list[str]] = {}
    for skipped in evidence.found.skipped:
        reasons.setdefault(skipped.why, []).append(skipped.path)
    for failure in evidence.failures:
        path = evidence.found.files[failure.index].path
        why = failure.reason.removeprefix(name_of(path)).strip()
        reasons.setdefault(why, []).append(path)
    if reasons:
        yield "### Not read"
        yield _list(_reason(why, paths) for why, paths in reasons.items())
    if evidence.found.hidden:
        what = _many(
            evidence.found.hidden,
            "hidden file or folder of caches",
            "hidden files and folders of caches",
        )
        yield f"Not looked into: {what}."


def _reason(why: str, paths: list[str]) -> str:
    named = ", ".join(code(name_of(path)) for path in paths[:_LISTED] if path)
    more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return f"{named}{more}: {escaped(why.removeprefix('is '))}" if named else escaped(why)


def _numbers(examined: Examined) -> dict[str, int]:
    """Number the sources in the order in which they are cited."""
    cited = [one.place.source.path for one in examined.extracts]
    cited += [place.source.path for one in examined.extracts for place in one.also]
    return {path: number for number, path in enumerate(dict.fromkeys(cited), 1)}


def _root(notes: Iterable[Note]) -> str:
    """Return the folder that all sources are below."""
    return os.path.commonpath([os.path.dirname(note.source.path) for note in notes])


def _short(path: str, root: str) -> str:
    return name_of(os.path.relpath(path, root))


def _cited(place: Place, numbers: dict[str, int]) -> str:
    return f"[{numbers[place.source.path]}] {_span(place)}"


def _span(place: Place) -> str:
    return f"{_lines(place)}, bytes {place.passage.start} to {place.passage.end}"


def _lines(place: Place) -> str:
    first, last = place.passage.first_line, place.passage.last_line
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _plain(one: Extract) -> str:
    return one.place.passage.text.replace("\r\n", "\n").replace("\r", "\n")


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _many(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
