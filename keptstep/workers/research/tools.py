"""The tools of the research workflow: find, read, take notes, report."""

from __future__ import annotations

import hashlib

from keptstep.models.artifacts import MARKDOWN_TYPE, ArtifactClass, Effect
from keptstep.models.errors import BadInput, Permanent
from keptstep.workers.research.brains import resolve
from keptstep.workers.research.checking import nothing_readable
from keptstep.workers.research.decoding import Decoded, detect
from keptstep.workers.research.evidence import Evidence
from keptstep.workers.research.listing import MAX_FILES, list_sources
from keptstep.workers.research.opening import MAX_SIZE, read_file
from keptstep.workers.research.passages import passages
from keptstep.workers.research.records import Failure, Found, Note, Page, Skipped, Source
from keptstep.workers.research.report import write
from keptstep.workers.research.showing import name_of
from keptstep.workers.research.sniffing import SNIFFED, not_text
from keptstep.workflows.brains import Material, Purpose, Turn
from keptstep.workflows.definition import tool
from keptstep.workflows.values import Payload, Result

#: The most passages of one source that are noted for the report.
NOTED = 16
#: The most extracts of a report.
EXTRACTS = 8


@tool(
    name="keptstep.research.find",
    artifact_class=ArtifactClass.IDEMPOTENT_FETCH,
    effect=Effect.NONE,
    deadline=600,
)
def find(sources: list[str], max_size: int = MAX_SIZE, max_files: int = MAX_FILES) -> Found:
    """List the files of the sources; raises ``Permanent`` if there is nothing to read."""
    try:
        found = list_sources(sources, max_size, max_files)
    except BadInput as error:
        raise Permanent(str(error)) from None
    if not found.files:
        raise Permanent(nothing_readable(sources, found.skipped))
    return found


@tool(
    name="keptstep.research.read",
    artifact_class=ArtifactClass.IDEMPOTENT_FETCH,
    effect=Effect.NONE,
    deadline=300,
)
def read(found: Found, index: int, max_size: int = MAX_SIZE) -> Page:
    """Read one of the files found and cut it into passages.

    Raises ``Permanent`` for a file that is gone, may not be read or holds no text.
    """
    file = found.files[index]
    contents = read_file(file.path, max_size)
    why = not_text(contents.data[:SNIFFED])
    if why:
        raise Permanent(f"{name_of(file.path)} {why}")
    decoded = Decoded(contents.data, detect(contents.data))
    cut = passages(decoded, file.media)
    if not cut:
        raise Permanent(f"{name_of(file.path)} holds no text")
    source = Source(
        path=file.path,
        media=file.media,
        size=len(contents.data),
        sha256=hashlib.sha256(contents.data).hexdigest(),
        encoding=decoded.encoding.codec,
        passages=len(cut),
        changing=contents.changing,
    )
    return Page(source, cut)


@tool(
    name="keptstep.research.notes",
    artifact_class=ArtifactClass.SNAPSHOT,
    effect=Effect.NONE,
    deadline=600,
)
def notes(question: str, page: Page, brain: str = "extractive") -> Note:
    """Let a brain choose what one source says about the question."""
    material = Material(page.source.path, page.passages)
    answer = resolve(brain).turn(Turn(Purpose.NOTE, question, [material], NOTED))
    chosen = [quote.passage for quote in answer.quotes]
    return Note(
        page.source, chosen, answer.text, answer.memory, usage=answer.usage, ended=answer.ended
    )


@tool(
    name="keptstep.research.report",
    artifact_class=ArtifactClass.RENDER,
    effect=Effect.NONE,
    deadline=600,
)
def report(
    question: str,
    found: Found,
    notes: list[Result[Note]],
    failures: list[Failure],
    brain: str = "extractive",
    extracts: int = EXTRACTS,
) -> Payload:
    """Write the cited report in Markdown; every quotation is reopened in its file first.

    Raises ``Permanent`` if not one source could be read.
    """
    if not notes:
        unread = [Skipped(found.files[one.index].path, one.reason) for one in failures]
        raise Permanent(nothing_readable([one.path for one in unread], unread))
    evidence = Evidence(question, found, [note.value for note in notes], failures)
    text = write(evidence, resolve(brain), extracts)
    return Payload(text.encode(), MARKDOWN_TYPE, tuple(note.ref for note in notes))
