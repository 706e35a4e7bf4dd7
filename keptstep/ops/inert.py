"""Text that was written by others, made harmless for a terminal.

Reasons, step names, questions, paths and artifacts come from pages, programs and models. Shown as
they are, a control sequence could clear the screen, retitle the window or fake a prompt, and a
bidirectional override could turn a command round before a person copies it.
"""

from __future__ import annotations

import re

# What moves the cursor, starts a sequence, hides or reorders: C0, C1, lone surrogates, line and
# paragraph separators, bidirectional and invisible formatting, tags. The joiners U+200C and U+200D
# and the soft hyphen stay, because Persian, Indic scripts and emoji need them.
_HARMFUL = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
_IN_TEXT = re.compile(f"[{_HARMFUL}]")
_IN_LINE = re.compile(f"[{_HARMFUL}\t\n]")


def inert_line(text: str) -> str:
    """Return ``text`` as one line in which every harmful character is spelled out (``\\x1b``)."""
    return _IN_LINE.sub(_spelled, text)


def inert_text(text: str) -> str:
    """Return ``text`` with its lines and tabs, everything else harmful spelled out."""
    return _IN_TEXT.sub(_spelled, text.replace("\r\n", "\n"))


def _spelled(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()
