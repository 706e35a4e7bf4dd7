"""Running the research tools by hand, and looking at the report they leave."""

from __future__ import annotations

from pathlib import Path

from keptstep.models.artifacts import ArtifactClass, ArtifactRef
from keptstep.models.canonical import sha256
from keptstep.models.errors import Permanent
from keptstep.models.ids import ArtifactId
from keptstep.models.stores.artifacts_memory import MemoryArtifactStore
from keptstep.workers.research import find, notes, read, report
from keptstep.workers.research.decoding import Decoded, detect
from keptstep.workers.research.passages import passages
from keptstep.workers.research.records import Failure, Found, Note, Page
from keptstep.workflows.brains import Passage
from keptstep.workflows.values import Payload, Result, encode_value


class Kept:
    """Keeps results in memory, as the engine would in files."""

    def __init__(self) -> None:
        self.store = MemoryArtifactStore(1 << 30)
        self._made = 0

    def result(self, value: object, kind: type) -> Result[Note]:
        data, media_type = encode_value(value)
        blob = self.store.put([data])
        self._made += 1
        identity = ArtifactId(sha256(str(self._made).encode()).encode()[:16])
        ref = ArtifactRef(identity, blob.sha, ArtifactClass.SNAPSHOT, media_type, blob.size)
        return Result(ref, self.store, kind)


def cut(data: bytes, media: str = "text/plain") -> list[Passage]:
    """Return the passages of a file with these bytes."""
    return passages(Decoded(data, detect(data)), media)


def pages_of(found: Found) -> tuple[list[Page], list[Failure]]:
    """Read everything that was found."""
    pages: list[Page] = []
    failures: list[Failure] = []
    for index in range(len(found.files)):
        try:
            pages.append(read(found, index))
        except Permanent as error:
            failures.append(Failure(index, str(error)))
    return pages, failures


def noted(question: str, *sources: Path | str) -> tuple[Found, list[Note], list[Failure]]:
    """Find, read and take notes."""
    found = find([str(source) for source in sources])
    pages, failures = pages_of(found)
    return found, [notes(question, page) for page in pages], failures


def written(
    question: str, found: Found, taken: list[Note], failures: list[Failure], extracts: int = 8
) -> Payload:
    """Write the report from notes."""
    kept = Kept()
    results = [kept.result(note, Note) for note in taken]
    return report(question, found, results, failures, extracts=extracts)


def researched(question: str, *sources: Path | str, extracts: int = 8) -> str:
    """Return the report on a question."""
    payload = written(question, *noted(question, *sources), extracts=extracts)
    assert isinstance(payload.data, bytes)
    return payload.data.decode()


def extracts_of(text: str) -> list[str]:
    """Return the sections of a report that hold one extract each."""
    body = text.partition("\n## Sources\n")[0]
    return body.split("\n### ")[1:]
