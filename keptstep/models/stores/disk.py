"""The file system as the file store needs it: folders that last, whole writes, plain words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from keptstep.models.errors import StoreError
from keptstep.models.stores.artifact_rules import corrupt, missing

POSIX = os.name == "posix"
BINARY = getattr(os, "O_BINARY", 0)

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
#: What opening says when a link or a socket stands in the place of a file.
_NO_FILE = frozenset({errno.ELOOP, errno.EMLINK, errno.ENXIO})
_ADVICE = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EFBIG: "the system takes no file this large",
    errno.EACCES: "check who may write there",
    errno.EPERM: "check who may write there",
    errno.EROFS: "check who may write there",
    errno.ENOTDIR: "choose another folder",
    errno.EMFILE: "raise the limit of open files and try again",
    errno.ENFILE: "raise the limit of open files and try again",
    errno.EIO: "check the disk before trying again",
}


@contextmanager
def explained(root: str, kind: type[StoreError] = StoreError) -> Iterator[None]:
    """Turn what the system refuses within into a ``kind`` with one line for a person."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "try again")
        raise kind(f"the payload store {root} failed ({error.strerror}): {advice}") from error


@contextmanager
def readable(sha: str, root: str) -> Iterator[None]:
    """Turn what the system says about the file of ``sha`` into the error of that payload.

    Only what speaks of the file itself makes it missing or damaged; too many open files, for
    example, says nothing about it.
    """
    try:
        with explained(root):
            yield
    except StoreError as error:
        cause = error.__cause__
        number = cause.errno if isinstance(cause, OSError) else None
        if number == errno.ENOENT:
            raise missing(sha) from None
        if number in _NO_FILE:
            raise corrupt(sha, "something else stands in its place") from None
        if number == errno.EIO:
            raise corrupt(sha, "the disk cannot read it") from cause
        raise


def make_folders(root: str, names: Iterable[str]) -> None:
    """Make ``root``, for its owner alone, with a folder for each name, and sync their names.

    Raises ``OSError``.
    """
    _make_path(root)
    there = set(os.listdir(root))
    for name in names:
        if name not in there:
            _make(os.path.join(root, name))
    # Always, not only when something was made: a start before this one may have stopped here.
    _sync_folder(root)


def open_folder(path: str) -> int | None:
    """Open a folder to sync the names in it; ``None`` on systems that cannot."""
    return os.open(path, _FOLDER) if POSIX else None


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``; one call to the system may take less."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _make_path(root: str) -> None:
    absent = []
    path = root
    while not os.path.isdir(path):
        absent.append(path)
        path = os.path.dirname(path)
    for folder in reversed(absent):
        _make(folder)
        _sync_folder(os.path.dirname(folder))
    # A parent that we may not read was there before us, and so was the name in it.
    with suppress(PermissionError):
        _sync_folder(os.path.dirname(root))


def _make(folder: str) -> None:
    # Another process may make it at the same time.
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def _sync_folder(path: str) -> None:
    folder = open_folder(path)
    if folder is None:
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
