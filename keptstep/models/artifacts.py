"""Artifacts: what a step leaves behind, its class, and the small reference passed around."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from keptstep.models.ids import ArtifactId, Sha256

JSON_TYPE = "application/json"
BYTES_TYPE = "application/octet-stream"
TEXT_TYPE = "text/plain; charset=utf-8"
MARKDOWN_TYPE = "text/markdown; charset=utf-8"


class ArtifactClass(IntEnum):
    """What may be done about an output on resume: the class is the rule (R68 to R77)."""

    EXTERNAL_FILE = 1  #: reuse the file, make it again only when it is gone (R69)
    IDEMPOTENT_FETCH = 2  #: safe to fetch again (R70)
    SNAPSHOT = 3  #: reuse the snapshot, never ask again on resume (R71)
    RENDER = 4  #: derived from its sources; made again only while they live (R73, R74)


class Effect(StrEnum):
    """What a call does to the world outside."""

    NONE = "none"  #: it reads only: may be called again
    IDEMPOTENT = "idempotent"  #: the provider takes our key: may be called again with it
    SIDE_EFFECT = "side effect"  #: must not be repeated without a person's word


@dataclass(frozen=True, slots=True)
class Blob:
    """A kept payload: the file named by ``sha``, ``size`` bytes long."""

    sha: Sha256
    size: int


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """What is passed around instead of a payload."""

    id: ArtifactId
    sha: Sha256
    artifact_class: ArtifactClass
    media_type: str
    size: int
