"""Showing what others wrote so that it stays text: in a message, a terminal, in Markdown."""

from __future__ import annotations

import re
import unicodedata

#: Joiners that scripts and emoji need, and that hide nothing.
_KEPT = "\n\t\u200c\u200d"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$@]|:(?=//)|(?<=[wW]{3})\.")
_BACKTICKS = re.compile("`+")


def visible(text: str) -> str:
    r"""Return a text with every character that would not be seen as itself written out.

    Control characters (terminal escapes are made of them), marks that turn the direction of
    writing, characters of no width, lone surrogates: ``\x1b``, ``\u202e``. Every kind of line
    end becomes a new line.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(map(_shown, text))


def name_of(path: str) -> str:
    """Return a path as one visible line that no two paths share by looks."""
    return visible(path.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t"))


def folded(text: str, limit: int = 300) -> str:
    """Return a text as one visible line, its white space folded, cut after ``limit``."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def escaped(text: str) -> str:
    """Return one line of Markdown that reads as the text and does nothing."""
    line = folded(text, 10_000)
    return _MARKUP.sub(lambda mark: f"\\{mark.group()}", line)


def code(text: str) -> str:
    """Return a code span around one line; it also holds in a cell of a table."""
    line = visible(text).replace("\n", "\\n").replace("|", "\\|")
    marks = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith(("`", " ")) or line.endswith(("`", " ")) or not line else ""
    return f"{marks}{space}{line}{space}{marks}"


def fenced(text: str) -> str:
    """Return a code block around a text: nothing in it can end the block."""
    shown = visible(text)
    fence = "`" * max(_longest_run(shown) + 1, 3)
    return f"{fence}text\n{shown}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
