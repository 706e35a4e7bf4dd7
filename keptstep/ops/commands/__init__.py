"""The commands, one module each; they only parse and print."""

from __future__ import annotations

from importlib import import_module

import typer

#: In the order of ``keptstep --help``.
_NAMES = (
    "research",
    "resume",
    "ls",
    "show",
    "events",
    "explain",
    "read",
    "retry",
    "settle",
    "pause",
    "worker",
    "crashtest",
    "migrate",
    "version",
)


def add_all(app: typer.Typer) -> None:
    """Add every command to the app."""
    for name in _NAMES:
        import_module(f"keptstep.ops.commands.{name}").add(app)
