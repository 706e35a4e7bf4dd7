"""Listing sources: files, folders and globs become files worth reading, always in one order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from keptstep.models.errors import BadInput, Permanent
from keptstep.workers.research.globs import base_and_pattern, has_magic
from keptstep.workers.research.opening import first_bytes, kind_of, too_large, why_not
from keptstep.workers.research.records import Found, Skipped, SourceFile
from keptstep.workers.research.showing import name_of
from keptstep.workers.research.sniffing import SNIFFED, media_of, not_text

#: The most files one run reads, unless another limit is asked for.
MAX_FILES = 5000

#: Folders of what can be made again, by name or by a file in them.
_CACHES = frozenset({"__pycache__", "node_modules"})
_CACHE_MARKS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})


def list_sources(sources: Iterable[str], max_size: int, max_files: int) -> Found:
    """List what can be read; ``max_size`` is the limit of one file in bytes.

    Whatever cannot be read is in ``skipped`` with the reason. Raises ``BadInput`` for a source
    that cannot be understood.
    """
    listing = Listing(max_size, max_files)
    for source in sources:
        listing.add(absolute(source))
    return listing.found()


def absolute(source: str) -> str:
    """Return the absolute path or glob that a person means; raises ``BadInput`` for nothing."""
    if not source.strip():
        raise BadInput("a source is empty: name a file, a folder or a glob")
    return os.path.abspath(os.path.expanduser(source))


class Listing:
    """Collects files, each once however many paths lead to it."""

    def __init__(self, max_size: int, max_files: int) -> None:
        self._max_size = max_size
        self._max_files = max_files
        self._files: list[SourceFile] = []
        self._skipped: list[Skipped] = []
        self._hidden = 0
        self._seen: dict[tuple[int, int], str] = {}
        self._beyond = 0

    def found(self) -> Found:
        """Return what was collected."""
        skipped = list(self._skipped)
        if self._beyond:
            why = f"more than {self._max_files} files: {self._beyond} further ones were not read"
            skipped.append(Skipped("", why))
        return Found(self._files, skipped, self._hidden)

    def add(self, source: str) -> None:
        """Add a file, a folder with all below it, or what a glob matches."""
        for path in self.paths(source):
            self.add_file(path)

    def paths(self, source: str) -> Iterator[str]:
        """Yield what a source leads to that is no folder."""
        try:
            status = os.stat(source)
        except ValueError:
            self._skip(source, "is no path")
        except OSError as error:
            if isinstance(error, FileNotFoundError) and has_magic(source):
                yield from self._matching(source)
            else:
                self._skip(source, why_not(error))
        else:
            yield from self._below(source) if stat.S_ISDIR(status.st_mode) else [source]

    def _matching(self, source: str) -> Iterator[str]:
        base, pattern = base_and_pattern(source)
        matched = False
        for path in self._below(base):
            if pattern.match(os.path.relpath(path, base)):
                matched = True
                yield path
        if not matched:
            self._skip(source, "matches no file")

    def _below(self, root: str) -> Iterator[str]:
        """Yield everything below a folder that is no folder, in the order of the names."""
        inside = os.path.realpath(root) + os.sep
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._skip(folder, why_not(error))
                continue
            if folder != root and _CACHE_MARKS & {entry.name for entry in listed}:
                self._hidden += 1
                continue
            folders: list[str] = []
            for entry in listed:
                if entry.name.startswith(".") or entry.name in _CACHES:
                    self._hidden += 1
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_symlink() and not _leads_to_file(entry.path, inside):
                    self._skip(entry.path, "is a link that leads to no file inside the folder")
                else:
                    yield entry.path
            waiting += reversed(folders)

    def add_file(self, path: str) -> None:
        """Take one path, unless the file was taken under another name or cannot be read."""
        try:
            status = os.stat(path)
        except OSError as error:
            self._skip(path, why_not(error))
            return
        key = (status.st_dev, status.st_ino)
        if key in self._seen:
            if self._seen[key] != path:
                self._skip(path, f"is the same file as {name_of(self._seen[key])}")
        elif len(self._files) >= self._max_files:
            self._beyond += 1
        else:
            self._seen[key] = path
            self._look_at(path, status)

    def _look_at(self, path: str, status: os.stat_result) -> None:
        """Take a file, or say why not, by its size and its first bytes."""
        if not stat.S_ISREG(status.st_mode):
            self._skip(path, f"is {kind_of(status.st_mode)}")
        elif status.st_size > self._max_size:
            self._skip(path, too_large(status.st_size, self._max_size))
        else:
            try:
                begin = first_bytes(path, SNIFFED)
            except Permanent as error:
                self._skip(path, str(error).removeprefix(name_of(path)).strip())
                return
            except OSError as error:
                self._skip(path, why_not(error))
                return
            why = not_text(begin) if begin else "is empty"
            if why:
                self._skip(path, why)
            else:
                self._files.append(SourceFile(path, status.st_size, media_of(path, begin)))

    def _skip(self, path: str, why: str) -> None:
        self._skipped.append(Skipped(path, why))


def _leads_to_file(path: str, inside: str) -> bool:
    return os.path.realpath(path).startswith(inside) and not os.path.isdir(path)
