"""What a power cut would have lost, read from a trace of system calls.

Killing a process never shows a missing sync: the system still has what was written. So a
command runs under ``strace``, and the trace is read as a cautious disk would: bytes are lost
until their file is synced, names until their folder is.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_WRITES = frozenset(
    {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "ftruncate"}
)
_SYNCS = frozenset({"fsync", "fdatasync"})
_RENAMES = frozenset({"rename", "renameat", "renameat2", "link", "linkat"})
_REMOVALS = frozenset({"unlink", "unlinkat", "rmdir"})
_MAKES = frozenset({"mkdir", "mkdirat"})
_OPENS = frozenset({"open", "openat", "creat"})
TRACED = _WRITES | _SYNCS | _RENAMES | _REMOVALS | _MAKES | _OPENS

_LINE = re.compile(r"(?P<pid>\d+)\s+(?P<rest>.*)")
_CALL = re.compile(r"(?P<name>\w+)\((?P<args>.*)\)\s+= (?P<result>-?\d+|\?)")
#: How a call begins, whether its end stands on the same line or not.
_OPENING = re.compile(r"(?P<name>\w+)\((?P<args>.*?)(?:\)\s+= .*| <unfinished \.\.\.>)?$")
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>(?P<rest>.*)")
_UNFINISHED = " <unfinished ...>"
#: A descriptor with its path, or a text in quotes: what names a file in the arguments.
_NAME = re.compile(r'(?:\d+|AT_FDCWD)<(?P<open>[^>]*)>|"(?P<text>(?:[^"\\]|\\.)*)"')


class TraceFailed(Exception):
    """The command could not be traced, or it failed under the trace."""


@dataclass(frozen=True, slots=True)
class Call:
    """One successful system call.

    ``path`` is the file it is about, ``target`` the new name of a rename or link. ``began`` and
    ``ended`` are line numbers of the trace: a sync covers what ended before it began.
    """

    pid: int
    name: str
    path: str
    args: str
    target: str = ""
    began: int = 0
    ended: int = 0


def trace(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Call]:
    """Run ``command`` with all its threads and children under ``strace`` and return its calls.

    Raises ``TraceFailed`` when ``strace`` is missing or forbidden, or the command fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "trace")
        strace = ["strace", "-f", "-y", "-qq", "-s", "0", "-o", str(log)]
        # With ? a call that this machine's kernel does not have is no error.
        calls = ",".join(f"?{name}" for name in sorted(TRACED))
        strace += ["-e", f"trace={calls}", "-e", "signal=none", "--"]
        try:
            done = subprocess.run(  # noqa: S603 - the test's own command
                [*strace, *command],
                cwd=cwd,
                env=env,
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        except FileNotFoundError:
            raise TraceFailed("strace is not installed: install it to run this check") from None
        if done.returncode != 0:
            raise TraceFailed(f"the traced command ended with {done.returncode}: {done.stderr}")
        return parse(log.read_text(errors="surrogateescape").splitlines())


def parse(lines: Iterable[str]) -> list[Call]:
    """Return the successful calls of a trace made with ``strace -f -y``, in order of their end."""
    begun: dict[str, tuple[int, str]] = {}
    calls = []
    for number, line in enumerate(lines):
        if not (match := _LINE.match(line)):
            continue
        pid, rest = match["pid"], match["rest"]
        if rest.endswith(_UNFINISHED):
            begun[pid] = (number, rest.removesuffix(_UNFINISHED))
            continue
        began = number
        if resumed := _RESUMED.match(rest):
            began, start = begun.pop(pid, (number, ""))
            rest = start + resumed["rest"]
        call = _CALL.match(rest)
        if call and not call["result"].startswith(("-", "?")):
            path, target = _names(call["name"], call["args"])
            calls.append(Call(int(pid), call["name"], path, call["args"], target, began, number))
    return calls


def begun(lines: Iterable[str]) -> list[Call]:
    """Return all calls of a trace in order of their beginning, also failed and cut ones.

    A call that was cut may lack what it was given last; ``ended`` is the line it began on.
    """
    calls = []
    for number, line in enumerate(lines):
        if match := _LINE.match(line):
            opening = _OPENING.match(match["rest"])
            if opening:
                name, args = opening["name"], opening["args"]
                path, target = _names(name, args)
                calls.append(Call(int(match["pid"]), name, path, args, target, number, number))
    return calls


def until(calls: Sequence[Call], suffix: str) -> list[Call]:
    """Return the calls up to, and without, the first on a path that ends with ``suffix``.

    Raises ``ValueError`` when there is none: nothing would be shown by such a trace.
    """
    for position, call in enumerate(calls):
        if call.path.endswith(suffix):
            return list(calls[:position])
    raise ValueError(f"the trace has no call on a path that ends with {suffix!r}")


def count_syncs(calls: Iterable[Call], suffix: str) -> int:
    """Return how often a path that ends with ``suffix`` was synced."""
    return sum(call.name in _SYNCS and call.path.endswith(suffix) for call in calls)


def missing_syncs(
    calls: Iterable[Call], under: Path | None = None, told: str | None = None
) -> list[str]:
    """Return what a power cut would have lost, one line each; an empty list is a clean trace.

    Only paths in ``under`` are looked at. Found are: a file renamed before its bytes were
    synced; and bytes or names not synced when the world was told. It is told by each call on a
    path that ends with ``told``; without ``told`` by the end of the trace.
    """
    state = _Unsynced(f"{under.resolve()}/" if under else "/")
    found: list[str] = []
    for call in calls:
        if told and call.path.endswith(told):
            found += state.pending()
        else:
            found += state.see(call)
    return found if told else [*found, *state.pending()]


@dataclass
class _Unsynced:
    """What is written and not yet on the disk: path -> line of the trace it was written by."""

    under: str
    data: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def see(self, call: Call) -> Iterator[str]:
        """Follow one call; yields what is wrong with it."""
        if call.name in _SYNCS:
            self._sync(call)
        elif not self._inside(call):
            return
        elif call.name in _WRITES:
            self.data[call.path] = call.ended
        elif call.name in _RENAMES:
            yield from self._rename(call)
        elif call.name in _REMOVALS:
            self._forget(call.path)
        elif call.name in _MAKES or _creates(call):
            self.names[call.path] = call.ended

    def pending(self) -> list[str]:
        """Return what a power cut would lose now."""
        return [f"bytes not synced: {path}" for path in self.data] + [
            f"name not synced: {path}" for path in self.names
        ]

    def _inside(self, call: Call) -> bool:
        return call.path.startswith(self.under) or call.target.startswith(self.under)

    def _sync(self, call: Call) -> None:
        if self.data.get(call.path, call.began) < call.began:
            del self.data[call.path]
        self.names = {
            path: line
            for path, line in self.names.items()
            if os.path.dirname(path) != call.path or line > call.began
        }

    def _rename(self, call: Call) -> Iterator[str]:
        if call.path in self.data:
            yield f"renamed before its bytes were synced: {call.path} to {call.target}"
        if not call.name.startswith("link"):
            self._forget(call.path)
        self.data.pop(call.target, None)
        self.names[call.target] = call.ended

    def _forget(self, path: str) -> None:
        self.data.pop(path, None)
        self.names.pop(path, None)


def _creates(call: Call) -> bool:
    # Without O_EXCL or O_TRUNC the file may have been there: a database opens like that.
    flags = ("O_EXCL", "O_TRUNC")
    return call.name == "creat" or (
        call.name in _OPENS and "O_CREAT" in call.args and any(each in call.args for each in flags)
    )


def _names(name: str, args: str) -> tuple[str, str]:
    """Return the file a call is about, and the new name if it is a rename."""
    wanted = 2 if name in _RENAMES else 1
    paths: list[str] = []
    folder = ""
    for match in _NAME.finditer(args):
        if match["open"] is None:
            paths.append(os.path.normpath(os.path.join(folder, _unquoted(match["text"]))))
        elif name in _WRITES or name in _SYNCS:
            paths.append(_unquoted(match["open"]).removesuffix(" (deleted)"))
        else:
            folder = _unquoted(match["open"])
        if len(paths) == wanted:
            break
    return (paths or [""])[0], paths[1] if len(paths) > 1 else ""


def _unquoted(text: str) -> str:
    # The trace is ASCII: an escape stands for one byte of the file's name.
    return os.fsdecode(text.encode("ascii", "replace").decode("unicode_escape").encode("latin-1"))
