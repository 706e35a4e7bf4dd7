"""Opening files that may be anything, gone, or somebody else's: never a hang, never a surprise."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from keptstep.models.errors import Permanent
from keptstep.workers.research.showing import name_of

#: The largest file that is read, in bytes, unless another limit is asked for.
MAX_SIZE = 20_000_000

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """A file's bytes, and whether it was written to while they were read."""

    data: bytes
    changing: bool


def read_file(path: str, max_size: int) -> Contents:
    """Return a file's bytes; raises ``Permanent`` where reading again would not help."""
    with _opened(path) as (handle, status):
        if status.st_size > max_size:
            raise Permanent(f"{name_of(path)} {too_large(status.st_size, max_size)}")
        data = _read(handle, max_size + 1)
        after = os.fstat(handle)
    if len(data) > max_size:
        raise Permanent(f"{name_of(path)} grew over the limit of {sized(max_size)} meanwhile")
    changing = (status.st_size, status.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    return Contents(data, changing)


def first_bytes(path: str, count: int) -> bytes:
    """Return how a file begins; raises ``Permanent`` as ``read_file``."""
    with _opened(path) as (handle, _):
        return _read(handle, count)


def kind_of(mode: int) -> str:
    """Say what something is that is no regular file."""
    return _KINDS.get(stat.S_IFMT(mode), "not a file")


def too_large(size: int, max_size: int) -> str:
    """Say that a file is over the limit; nothing of it was read."""
    return f"is {sized(size)}, over the limit of {sized(max_size)}"


def sized(count: int) -> str:
    """Return a number of bytes as people say it."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} bytes"


def why_not(error: OSError) -> str:
    """Say in a few words why a path cannot be used."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return "is not there"
        case PermissionError():
            return "may not be read (permission denied)"
        case _:
            return f"cannot be read ({error.strerror or type(error).__name__})"


@contextmanager
def _opened(path: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file. Nothing else is waited for: a pipe's open returns at once."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise Permanent(f"{name_of(path)} {why_not(error)}") from None
    except ValueError:  # a NUL in the path
        raise Permanent(f"{name_of(path)} is no path") from None
    except OSError as error:
        raise type(error)(error.errno, f"{name_of(path)} {why_not(error)}") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Permanent(f"{name_of(path)} is {kind_of(status.st_mode)}")
        yield handle, status
    finally:
        os.close(handle)


def _read(handle: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0:
        part = os.read(handle, min(count, 1 << 20))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
