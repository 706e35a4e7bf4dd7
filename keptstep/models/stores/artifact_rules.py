"""What every artifact store answers alike: look-alike hashes, limits and error messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from keptstep.models.artifacts import Blob
from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing, TooLarge
from keptstep.models.ids import Sha256

_SHA = re.compile("[0-9a-f]{64}")
_SHOWN = 12


def is_sha(text: str) -> bool:
    """Whether ``text`` is a hash as we write it; anything else must never become a path."""
    return _SHA.fullmatch(text) is not None


def missing(sha: str) -> ArtifactMissing:
    """Return the error for a payload that is not there."""
    return ArtifactMissing(
        f"the payload {_shown(sha)} is not in the store: restore its file from a backup, "
        "or have it made again"
    )


def corrupt(sha: str, how: str = "its bytes do not match its hash") -> ArtifactCorrupt:
    """Return the error for a payload whose file may not be used."""
    return ArtifactCorrupt(
        f"the payload {_shown(sha)} is damaged ({how}): restore its file from a backup, "
        "or have it made again"
    )


class Intake:
    """Chunks on their way into a store: iterate them once, then ask for the ``blob``.

    What the chunks themselves raise passes through.
    """

    def __init__(self, chunks: Iterable[bytes], limit: int) -> None:
        self._chunks = chunks
        self._limit = limit
        self._digest = hashlib.sha256()
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        """Hand out each chunk; raises ``TooLarge`` instead of the one that goes over the limit."""
        for chunk in self._chunks:
            self._size += len(chunk)
            if self._size > self._limit:
                raise TooLarge(
                    f"the payload is over the limit of {self._limit} bytes and was not kept: "
                    "give less, or raise the limit"
                )
            self._digest.update(chunk)
            yield chunk

    @property
    def blob(self) -> Blob:
        """The name and size in bytes of what went through so far."""
        return Blob(Sha256(self._digest.hexdigest()), self._size)


def _shown(sha: str) -> str:
    # A look-alike may be anything a caller typed: only as text on one line.
    return sha[:_SHOWN] if is_sha(sha) else ascii(sha[:_SHOWN])
