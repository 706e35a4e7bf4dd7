"""The narrow port to a brain: a turn in, a turn out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source that can be quoted: bytes ``start`` to before ``end`` of the file."""

    start: int
    end: int
    first_line: int  #: from 1
    last_line: int
    text: str  #: as a reader sees it: decoded, without markup
    context: str = ""  #: the headings or the definition it stands under
    form: str = "plain"  #: how ``text`` comes from the bytes: "plain", "html" or "pre"


@dataclass(frozen=True, slots=True)
class Material:
    """What a brain may quote from one source in one turn."""

    source: str  #: its path
    passages: Sequence[Passage]
    memory: Any = None  #: what the brain left with its note on this source


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage a brain chose: which material of the turn it is from, and which of its places."""

    material: int
    passage: Passage


class Purpose(StrEnum):
    """What a turn is for."""

    NOTE = "note"  #: one source: which of its passages bear on the question
    REPORT = "report"  #: the notes of all sources: what the report says, in order


class Ended(StrEnum):
    """How a turn ended."""

    COMPLETE = "complete"
    CUT = "cut"  #: at a limit of length
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn in. At most ``limit`` quotes are wanted."""

    purpose: Purpose
    question: str
    materials: Sequence[Material]
    limit: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn cost, in tokens; nothing for a brain that is a program."""

    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn out.

    ``quotes`` come most relevant first. ``text`` is the brain's own prose, empty if it wrote
    none. ``memory`` is plain JSON that the brain gets back with its note's material; ``remarks``
    are sentences on how the turn was done, for the reader.
    """

    quotes: Sequence[Quote]
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    ended: Ended = Ended.COMPLETE
    memory: Any = None
    remarks: Sequence[str] = ()


class Brain(Protocol):
    """A participant that takes a turn."""

    @property
    def label(self) -> str:
        """One honest sentence on who chose and wrote what the reader sees."""
        ...

    def turn(self, turn: Turn) -> Answer:
        """Take a turn; raises what the tool it runs in would raise."""
        ...
