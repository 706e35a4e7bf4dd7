"""Named points of the step protocol: they do nothing unless a test listens.

Crash tests stop a process at a boundary by its name; other tests wait for one instead of
sleeping.
"""

from __future__ import annotations

from collections.abc import Callable

#: Every boundary of the step protocol, in order.
POINTS = (
    "submit.before",
    "submit.committed",
    "plan.before",
    "plan.committed",
    "ring.step",
    "claim.before",
    "claim.committed",
    "call.before",
    "call.entered",
    "call.acted",
    "call.returned",
    "keep.temporary",
    "keep.renamed",
    "keep.kept",
    "mark.committed",
    "finish.before",
    "finish.committed",
    "show",
    "ring.task",
    "advance.claimed",
    "advance.entered",
    "advance.returned",
    "advance.finished",
)

_listener: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """Tell the listener, if there is one, that the process is at this point."""
    if _listener is not None:
        _listener(name)


def listen(listener: Callable[[str], None] | None) -> None:
    """Install the one listener of this process, or take it away with ``None``."""
    global _listener  # noqa: PLW0603 - one process has one protocol to watch
    _listener = listener
