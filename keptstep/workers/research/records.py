"""What the research steps leave for each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from keptstep.workflows.brains import Ended, Passage, Usage


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file worth reading, as it was when the sources were listed."""

    path: str  #: absolute; bytes that are no UTF-8 as lone surrogates (os.fsdecode)
    size: int  #: bytes
    media: str  #: media type without parameters: it decides how the text is cut


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was found and not read, and why, in words for a reader."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """The sources as listed by the step ``find``."""

    files: list[SourceFile]
    skipped: list[Skipped] = field(default_factory=list)
    hidden: int = 0  #: hidden files, and folders of caches and version control, not looked into


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read."""

    path: str
    media: str
    size: int  #: bytes
    sha256: str
    encoding: str  #: a codec of Python's
    passages: int
    changing: bool = False  #: it was being written to while it was read


@dataclass(frozen=True, slots=True)
class Page:
    """One source with all its passages, left by a step ``read:…``."""

    source: Source
    passages: list[Passage]


@dataclass(frozen=True, slots=True)
class Note:
    """What a brain found in one source, left by a step ``note:…``."""

    source: Source
    quotes: list[Passage]
    text: str = ""
    memory: Any = None
    usage: Usage = field(default_factory=Usage)
    ended: Ended = Ended.COMPLETE


@dataclass(frozen=True, slots=True)
class Failure:
    """A source whose steps failed: its place among the found files, and the reason."""

    index: int
    reason: str
