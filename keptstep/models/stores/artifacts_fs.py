"""Payloads as files named by their SHA-256: kept once, durable when put returns (R31 to R33).

    <root>/ab/ab12...   one payload, read-only, never written in place
    <root>/tmp/         payloads on their way in
    <root>/suspect/     names that stand there although syncing their folder failed

A name becomes visible before it is durable. Three rules keep that from being mistaken:

* a put syncs the folder itself, even when it finds the name there already, because whoever made
  the name may not have come to that yet;
* while one thread makes a name durable, the others of this process wait for the folder;
* after a failed sync the system may forget what it could not write and report success for the
  next sync. The name becomes a suspect: later puts write the payload anew instead of finding it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from keptstep.models import points
from keptstep.models.artifacts import Blob
from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing, HomeNotWritable
from keptstep.models.ids import Sha256
from keptstep.models.stores.artifact_rules import Intake, corrupt, is_sha, missing
from keptstep.models.stores.disk import (
    BINARY,
    POSIX,
    explained,
    make_folders,
    open_folder,
    readable,
    write_all,
)

#: Temporary files untouched for this many seconds belong to nobody any more: a day, since a
#: tool may be slow between two chunks.
STALE = 86_400.0

_SHARDS = tuple(f"{number:02x}" for number in range(256))
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
# Without O_NONBLOCK a pipe in the place of a payload would hold its reader for ever.
_READ = os.O_RDONLY | BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_MODE = 0o444 if POSIX else 0o666  # elsewhere a read-only file cannot be replaced
_BLOCK = 1 << 18  # bytes hashed at a time


class FileArtifactStore:
    """An ``ArtifactStore`` in a folder; safe for many threads and processes at once.

    ``root`` is made if it is not there, with all its folders, and synced. ``max_bytes`` is the
    largest payload it keeps. Raises ``HomeNotWritable`` when the folder cannot be used.
    """

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = str(root.absolute())
        self._max_bytes = max_bytes
        self._temporary = os.path.join(self._root, "tmp")
        self._doubts = os.path.join(self._root, "suspect")
        self._suspects: set[Sha256] = set()
        self._locks = {shard: threading.Lock() for shard in _SHARDS}
        with explained(self._root, HomeNotWritable):
            make_folders(self._root, [*_SHARDS, "tmp", "suspect"])
        self.sweep_temporary(STALE)

    def put(self, chunks: Iterable[bytes], limit: int | None = None) -> Blob:
        """Keep a payload, durable when this returns; memory does not grow with its size.

        Raises ``TooLarge`` above ``limit`` or ``max_bytes`` bytes, ``StoreError`` when the
        system refuses, and whatever ``chunks`` raises; then nothing is left behind.
        """
        allowed = self._max_bytes if limit is None else min(limit, self._max_bytes)
        path = os.path.join(self._temporary, secrets.token_hex(16))
        with explained(self._root):
            fd = os.open(path, _WRITE, _MODE)
        try:
            try:
                blob = self._fill(fd, Intake(chunks, allowed))
            finally:
                with explained(self._root):
                    os.close(fd)
            points.reach("keep.temporary")
            self._publish(path, blob.sha, blob.size)
        finally:
            # Gone if it was renamed; one that cannot be removed now is swept later.
            with suppress(OSError):
                os.unlink(path)
        points.reach("keep.kept")
        return blob

    def open(self, sha: Sha256) -> BinaryIO:
        """Open a payload whose bytes were checked first, all through one descriptor.

        Raises ``ArtifactMissing`` or ``ArtifactCorrupt``, and ``StoreError`` when the system
        refuses.
        """
        return open(self._checked(sha), "rb")

    def read(self, sha: Sha256) -> bytes:
        """Return the checked bytes; raises as ``open``."""
        with open(self._found(sha), "rb", buffering=0) as file, readable(sha, self._root):
            data = file.read()
        if hashlib.sha256(data).hexdigest() != sha:
            raise corrupt(sha)
        return data

    def intact(self, sha: Sha256) -> bool:
        """Whether the payload is there and matches its hash."""
        try:
            os.close(self._checked(sha))
        except (ArtifactMissing, ArtifactCorrupt):
            return False
        return True

    def shas(self) -> Iterator[Sha256]:
        """Yield the hash of every payload held, folder by folder, unchecked."""
        for shard in _SHARDS:
            with explained(self._root), os.scandir(os.path.join(self._root, shard)) as entries:
                held = [each.name for each in entries if each.is_file(follow_symlinks=False)]
            yield from (Sha256(name) for name in sorted(held) if is_sha(name))

    def sweep_temporary(self, older_than: float) -> int:
        """Remove temporary files untouched for ``older_than`` seconds; return how many."""
        newest = time.time() - older_than
        swept = 0
        with explained(self._root), os.scandir(self._temporary) as entries:
            for entry in entries:
                # Another process may sweep at the same time.
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime <= newest:
                        os.unlink(entry.path)
                        swept += 1
        return swept

    # -- keeping -----------------------------------------------------------------------------
    def _fill(self, fd: int, intake: Intake) -> Blob:
        for chunk in intake:  # what the chunks raise is not ours to explain
            with explained(self._root):
                write_all(fd, chunk)
        with explained(self._root):
            os.fsync(fd)
        return intake.blob

    def _publish(self, temporary: str, sha: Sha256, size: int) -> None:
        path = self._path(sha)
        with self._locks[sha[:2]], explained(self._root):
            # Opened before the rename: an error in writing it back is told to every
            # descriptor that was open by then.
            folder = open_folder(os.path.dirname(path))
            try:
                suspect = self._suspected(sha)
                if suspect or not self._stands(sha, size):
                    os.replace(temporary, path)
                    self._suspects.add(sha)
                    points.reach("keep.renamed")
                self._sync_name(folder, sha)
                self._trust(sha, suspect)
            finally:
                if folder is not None:
                    os.close(folder)

    def _stands(self, sha: Sha256, size: int) -> bool:
        """Whether the very bytes are there already, and on the disk."""
        try:
            fd = self._checked(sha, size)
        except (ArtifactMissing, ArtifactCorrupt):
            return False
        try:
            if POSIX:  # elsewhere a descriptor for reading cannot be synced
                os.fsync(fd)
        except OSError:
            return False  # the new file, which is synced, takes its place
        finally:
            os.close(fd)
        return True

    def _sync_name(self, folder: int | None, sha: Sha256) -> None:
        if folder is None:
            return
        try:
            os.fsync(folder)
        except OSError:
            self._suspects.add(sha)
            # For other processes, and for this one after a restart. It needs no sync: after a
            # restart of the machine the disk itself shows whether the name is there.
            with suppress(OSError):
                os.close(os.open(self._doubt(sha), os.O_WRONLY | os.O_CREAT, 0o600))
            raise

    def _suspected(self, sha: Sha256) -> bool:
        return sha in self._suspects or os.path.lexists(self._doubt(sha))

    def _trust(self, sha: Sha256, suspected: bool) -> None:
        self._suspects.discard(sha)
        if suspected:
            # A doubt that stays costs the next put of these bytes a rename, nothing else.
            with suppress(OSError):
                os.unlink(self._doubt(sha))

    # -- reading -----------------------------------------------------------------------------
    def _found(self, sha: Sha256) -> int:
        """Open the regular file of a hash; the caller closes the descriptor."""
        if not is_sha(sha):
            raise missing(sha)
        with readable(sha, self._root):
            fd = os.open(self._path(sha), _READ)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
        os.close(fd)
        raise corrupt(sha, "something else stands in its place")

    def _checked(self, sha: Sha256, size: int | None = None) -> int:
        """Open a payload, compare it with its hash (and ``size``) and go back to its start."""
        fd = self._found(sha)
        try:
            with readable(sha, self._root):
                matches = (size is None or os.fstat(fd).st_size == size) and _digest(fd) == sha
                os.lseek(fd, 0, os.SEEK_SET)
        except BaseException:
            os.close(fd)
            raise
        if not matches:
            os.close(fd)
            raise corrupt(sha)
        return fd

    # -- places ------------------------------------------------------------------------------
    def _path(self, sha: Sha256) -> str:
        return os.path.join(self._root, sha[:2], sha)

    def _doubt(self, sha: Sha256) -> str:
        return os.path.join(self._doubts, sha)


def _digest(fd: int) -> str:
    digest = hashlib.sha256()
    while block := os.read(fd, _BLOCK):
        digest.update(block)
    return digest.hexdigest()
