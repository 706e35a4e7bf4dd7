"""What kind of file this is: by its name, and by how it begins."""

from __future__ import annotations

import os
import re

from keptstep.workers.research.decoding import bom_of, wide_codec
from keptstep.workers.research.stopwords import listed

#: Bytes from a file's beginning that are looked at.
SNIFFED = 8192

_CODE = listed(
    "py pyi pyx rb pl pm lua tcl r jl js mjs cjs jsx ts tsx java kt kts scala groovy clj go rs c "
    "h cc cpp cxx hh hpp m mm cs fs vb swift dart php sh bash zsh fish ps1 sql proto thrift el "
    "lisp scm hs ml mli erl ex exs zig nim v vhd asm s cmake gradle tf"
)
_MEDIA = {
    **dict.fromkeys(_CODE, "text/x-source"),
    **dict.fromkeys(("md", "markdown", "mdown", "mkd", "qmd", "rmd"), "text/markdown"),
    **dict.fromkeys(("html", "htm", "xhtml", "shtml"), "text/html"),
}
_HTML = re.compile(
    r"\s*+(?:<\?xml[^>]*+>\s*+)?+(?><!--.*?-->\s*+)*+<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_FORMATS = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"\x1f\x8b", "compressed"),
    (b"BZh", "compressed"),
    (b"\xfd7zXZ", "compressed"),
    (b"\x28\xb5\x2f\xfd", "compressed"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "a database"),
    (b"{\\rtf", "rich text"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_MOST_CONTROLS = 0.02  #: share of a text that may be control characters,
_FEW_CONTROLS = 8  #: and a number that is no matter in a short one


def not_text(begin: bytes) -> str | None:
    """Say what a file is that holds no text to read, by its first bytes; else ``None``."""
    for mark, name in _FORMATS:
        if begin.startswith(mark):
            return f"is {name}, not plain text"
    if bom_of(begin) is not None or wide_codec(begin) is not None:
        return None
    controls = len(begin) - len(begin.translate(None, _CONTROLS))
    most = max(_MOST_CONTROLS * len(begin), _FEW_CONTROLS)
    return "is binary, not text" if controls > most else None


def media_of(path: str, begin: bytes) -> str:
    """Return the media type that says how to cut a text: HTML, Markdown, source or plain."""
    suffix = os.path.splitext(path)[1].lower().removeprefix(".")
    if suffix in _MEDIA:
        return _MEDIA[suffix]
    if begin.startswith(b"#!"):
        return "text/x-source"
    return "text/html" if _HTML.match(begin.decode("latin-1")) else "text/plain"
