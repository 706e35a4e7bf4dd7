"""Where output goes: results to stdout, everything said about the work to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO


def prepare_streams() -> None:
    """Let no character and no closed descriptor make printing fail."""
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:  # started with the descriptor closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def mute(stream: TextIO) -> None:
    """Send what is still buffered for a stream nowhere, for good."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except OSError:
        pass  # a stream of a test, with no descriptor behind it
    finally:
        os.close(nowhere)


def write_json(document: Any) -> None:
    """Print one JSON document to stdout, in ASCII, so that no character in it is special."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
