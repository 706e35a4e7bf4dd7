"""Reopening every quotation where it was read, and comparing it, before a report is kept."""

from __future__ import annotations

import hashlib

from keptstep.models.errors import Permanent
from keptstep.workers.research.decoding import Encoding
from keptstep.workers.research.opening import read_file, why_not
from keptstep.workers.research.passages import as_read
from keptstep.workers.research.records import Source
from keptstep.workers.research.showing import name_of
from keptstep.workflows.brains import Passage

#: A file may have grown since it was read: so many bytes more are still read.
_GROWTH = 1 << 24


class Verifier:
    """Opens each source once, when its first quotation is compared."""

    def __init__(self) -> None:
        self._opened: dict[str, bytes | str] = {}

    def fault(self, source: Source, quoted: Passage) -> str | None:
        """Return why a quotation does not stand, or ``None`` if it does.

        It stands if the bytes of its range, decoded and freed of markup as when they were read,
        are its text.
        """
        data = self._contents(source)
        if isinstance(data, str):
            return data
        there = data[quoted.start : quoted.end]
        if as_read(there, Encoding(source.encoding), quoted.form) == quoted.text:
            return None
        if self.changed(source):
            return "the file has changed since it was read: these words no longer stand there"
        return "these words do not stand there"

    def changed(self, source: Source) -> bool:
        """Whether a file that was reopened is another one than was read."""
        data = self._opened.get(source.path)
        return isinstance(data, bytes) and hashlib.sha256(data).hexdigest() != source.sha256

    def _contents(self, source: Source) -> bytes | str:
        """Return a source's bytes as they are now, or why they cannot be had."""
        if source.path not in self._opened:
            try:
                self._opened[source.path] = read_file(source.path, source.size + _GROWTH).data
            except Permanent as error:
                why = str(error).removeprefix(name_of(source.path)).strip()
                self._opened[source.path] = f"the file {why}"
            except OSError as error:
                self._opened[source.path] = f"the file {why_not(error)}"
        return self._opened[source.path]
