"""A home's own name in Redis, so that homes which share a server never share messages."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from keptstep.models.errors import HomeNotWritable

_NAME = re.compile(r"[0-9a-f]{16}")


def home_name(home: Path) -> str:
    """Return the 16 digits kept in the home's file ``doorbell``; the first to ask makes them.

    A path would not do: containers mount different homes at one path. Raises
    ``HomeNotWritable``.
    """
    file = home / "doorbell"
    try:
        return _read(file) or _make(file)
    except OSError as error:
        raise HomeNotWritable(
            f"the home {home} cannot keep its name for Redis ({error.strerror}): "
            "check who may write there"
        ) from error


def _read(file: Path) -> str | None:
    with suppress(FileNotFoundError, UnicodeDecodeError):
        text = file.read_text(encoding="ascii").strip()
        if _NAME.fullmatch(text):
            return text
    return None


def _make(file: Path) -> str:
    name = secrets.token_hex(8)
    draft = file.with_name(f"doorbell.{name}")
    with draft.open("w", encoding="ascii") as out:
        out.write(f"{name}\n")
        out.flush()
        os.fsync(out.fileno())
    try:
        with suppress(FileExistsError):  # somebody else was first: theirs counts
            os.link(draft, file)
        return _read(file) or _replace(draft, file, name)
    finally:
        draft.unlink(missing_ok=True)


def _replace(draft: Path, file: Path, name: str) -> str:
    """Put a name in the place of a damaged one: it costs the messages, which are rung again."""
    draft.replace(file)
    return name
