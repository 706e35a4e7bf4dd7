"""The locks follow pyproject.toml: what it asks for is pinned, at a version it allows."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _pins(lock: str) -> dict[str, Requirement]:
    """Map each package a lock pins to its pin."""
    lines = (ROOT / "requirements" / lock).read_text().splitlines()
    pins = [Requirement(line.removesuffix("\\")) for line in lines if line[:1].isalnum()]
    return {canonicalize_name(pin.name): pin for pin in pins}


def _runtime() -> list[str]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    return [*PROJECT["project"]["dependencies"], *(ask for extra in extras for ask in extra)]


def _groups(*names: str) -> list[str]:
    groups = PROJECT["dependency-groups"]
    asks: list[str] = []
    for name in names:
        for entry in groups[name]:
            asks += [entry] if isinstance(entry, str) else _groups(entry["include-group"])
    return asks


ASKED = {
    "base.txt": _runtime(),
    "build.txt": _groups("build"),
    "dev.txt": _runtime() + _groups("dev"),
}


@pytest.mark.parametrize("lock", ASKED)
def test_the_lock_pins_every_dependency_at_an_allowed_version(lock: str) -> None:
    pins = _pins(lock)
    for line in ASKED[lock]:
        asked = Requirement(line)
        pin = pins.get(canonicalize_name(asked.name))
        assert pin is not None, f"{lock} does not pin {asked.name}: make lock"
        (version,) = (clause.version for clause in pin.specifier)
        assert asked.specifier.contains(version), f"{lock} pins {pin}, not {asked}: make lock"


@pytest.mark.parametrize("lock", ASKED)
def test_every_pin_carries_hashes(lock: str) -> None:
    lines = (ROOT / "requirements" / lock).read_text().splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line[:1].isalnum():
            assert after.strip().startswith("--hash=sha256:"), line


def test_an_editable_install_needs_nothing_but_the_development_lock() -> None:
    assert {"hatchling", "editables"} <= set(_pins("dev.txt"))
