"""A home, a registry of its own, and apps that are closed at the end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keptstep import App, Registry, Settings
from tests.template import new_database


@pytest.fixture
def registry() -> Registry:
    """Return a registry that knows the built-in tools and nothing else."""
    import keptstep.workers.builtin  # noqa: F401 - registers them
    from keptstep.workflows.definition import REGISTRY

    fresh = Registry()
    for name in ("keptstep.now", "keptstep.uuid", "keptstep.random"):
        fresh.add(REGISTRY.tool(name))
    return fresh


@pytest.fixture
def open_app(tmp_path: Path, registry: Registry) -> Iterator[Callable[..., App]]:
    """Return a function that opens an app on the test's one home."""
    opened: list[App] = []
    new_database(tmp_path / "home" / "keptstep.db")

    def opening(**settings: Any) -> App:
        given = {"sweep": 0.05, "workers": 4, "grace": 2.0} | settings
        made = App.open(settings=Settings.load(tmp_path / "home", {}, **given), registry=registry)
        opened.append(made)
        return made

    yield opening
    for app in opened:
        app.close()


@pytest.fixture
def app(open_app: Callable[..., App]) -> App:
    """Return a started app."""
    return open_app().start()
