"""Writing an output file whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from keptstep.models.errors import BadInput
from keptstep.ops.endings import Ending
from keptstep.ops.exits import ExitCode

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


def check_out(path: Path | None, *, force: bool) -> None:
    """Raise ``BadInput`` if ``path`` could not be written later: asked before work begins."""
    if path is None:
        return
    if os.path.lexists(path):
        if not path.is_file():
            raise BadInput(f"{path} is no regular file: name another with --out")
        if not force:
            raise BadInput(f"{path} exists: name another with --out, or add --force")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder} to write {path.name} into")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"no right to write into {folder}: name another place with --out")


def save(path: Path, chunks: Iterable[bytes], *, force: bool) -> int:
    """Write ``chunks`` to ``path`` through a temporary file beside it; return the bytes written.

    An existing file is replaced only with ``force``; a file that comes about meanwhile is not
    overwritten either. Raises ``BadInput``, or ends the command when the disk refuses.
    """
    check_out(path, force=force)
    temporary = path.absolute().parent / f".{path.name[:100]}.{secrets.token_hex(6)}.part"
    try:
        size = _write(temporary, chunks)
        _put(temporary, path, force)
    except OSError as error:
        message = f"{path} could not be written ({error.strerror})"
        raise Ending(ExitCode.OUTPUT, "OutputFailed", message) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return size


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    size = 0
    with path.open("xb") as file:
        for chunk in chunks:
            size += file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return size


def _put(temporary: Path, path: Path, force: bool) -> None:
    if force:
        temporary.replace(path)
        return
    try:
        path.hardlink_to(temporary)  # unlike a rename, it refuses where something stands
    except FileExistsError:
        raise BadInput(f"{path} exists: name another with --out, or add --force") from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        check_out(path, force=False)  # the best to be had on a file system without links
        temporary.replace(path)
