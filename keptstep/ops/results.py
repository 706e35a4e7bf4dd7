"""A kept result on its way out: checked bytes to a file or a pipe, harmless text to a terminal."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from keptstep.models.artifacts import JSON_TYPE, ArtifactRef
from keptstep.models.errors import BadInput
from keptstep.models.ids import short
from keptstep.ops.inert import inert_text
from keptstep.ops.saving import save
from keptstep.ops.words import size
from keptstep.workflows.ports import ArtifactStore

_CHUNK = 1 << 18  # bytes read at a time
_SNIFFED = 8192  # bytes looked at to tell text from other data


def is_text_type(media_type: str) -> bool:
    """Whether a media type promises text."""
    return media_type.startswith("text/") or media_type == JSON_TYPE


def stream(artifacts: ArtifactStore, ref: ArtifactRef, out: Path | None, *, force: bool) -> None:
    """Write an artifact's checked bytes to a file, or to stdout as they are.

    On a terminal text is shown with control characters spelled out, and anything else refused
    with ``BadInput``. Raises ``ArtifactMissing`` and ``ArtifactCorrupt`` before the first byte.
    """
    with artifacts.open(ref.sha) as file:
        if out is not None:
            save(out, _chunks(file), force=force)
        elif sys.stdout.isatty():
            _show(file, ref)
        else:
            sys.stdout.flush()
            for chunk in _chunks(file):
                sys.stdout.buffer.write(chunk)


def print_text(artifacts: ArtifactStore, ref: ArtifactRef) -> None:
    """Print a text artifact to stdout, its control characters spelled out."""
    with artifacts.open(ref.sha) as file:
        _print(file, errors="replace")


def text_of(artifacts: ArtifactStore, ref: ArtifactRef) -> str:
    """Return a text artifact as text."""
    return artifacts.read(ref.sha).decode("utf-8", "replace")


def json_text(artifacts: ArtifactStore, ref: ArtifactRef) -> str:
    """Return a JSON artifact laid out for reading."""
    return json.dumps(json.loads(artifacts.read(ref.sha)), indent=2)


def _show(file: BinaryIO, ref: ArtifactRef) -> None:
    head = file.read(_SNIFFED)
    if not is_text_type(ref.media_type) and not _looks_like_text(head):
        raise BadInput(
            f"artifact {short(ref.id)} is no text ({ref.media_type}, {size(ref.size)}): save it "
            "with --out FILE, or send it through a pipe"
        )
    file.seek(0)
    _print(file, errors="backslashreplace")


def _print(file: BinaryIO, errors: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    last = "\n"
    for chunk in _chunks(file):
        text = decoder.decode(chunk)
        sys.stdout.write(inert_text(text))
        last = text[-1:] or last
    text = decoder.decode(b"", final=True)
    sys.stdout.write(inert_text(text))
    if (text[-1:] or last) != "\n":
        sys.stdout.write("\n")


def _looks_like_text(head: bytes) -> bool:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
