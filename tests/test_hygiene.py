"""The repository speaks only of itself, is formatted, and depends on what it uses."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"build", "dist", "htmlcov", "__pycache__", "node_modules"}

# Where packages come from is the business of each machine. Taken apart, so that this file
# does not name what it forbids.
REGISTRIES = [
    "".join(parts)
    for parts in (
        ("py", "pi.org"),
        ("python", "hosted.org"),
        ("registry.", "npmjs.org"),
        ("deb.", "debian.org"),
        ("docker", ".io"),
        ("gh", "cr.io"),
        ("qu", "ay.io"),
        ("conda", ".anaconda.org"),
    )
]
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:work|root|Users|opt/wheels)/|(?<![\w.$}])/home/[a-z]")


def _files() -> Iterator[Path]:
    """Yield every text file of the checkout that is not a tool's cache or a build's product."""
    for folder, below, names in os.walk(ROOT):
        below[:] = [
            name
            for name in below
            if name not in GENERATED and (name == ".ci" or not name.startswith("."))
        ]
        for name in names:
            path = Path(folder, name)
            if path.suffix not in {".db", ".pyc", ".png"} and name != ".git":
                yield path


def _mentions(*needles: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for path in _files():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [
            f"{path.relative_to(ROOT)}: {match.group()}"
            for needle in needles
            for match in needle.finditer(text)
        ]
    return found


def test_the_walk_sees_the_repository() -> None:
    seen = {str(path.relative_to(ROOT)) for path in _files()}
    assert {"pyproject.toml", ".ci/run", "tests/test_hygiene.py", "requirements/dev.txt"} <= seen


def test_no_file_names_a_package_registry() -> None:
    assert _mentions(*(re.compile(re.escape(host)) for host in REGISTRIES)) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert _mentions(MACHINE_PATH, re.compile(re.escape(f"{ROOT}/"))) == []


@pytest.mark.parametrize("lock", ["base.txt", "build.txt", "dev.txt"])
def test_a_lock_names_packages_and_hashes_only(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    assert "://" not in text
    options = {line.split()[0] for line in text.splitlines() if line.startswith("-")}
    assert options == set()


def _tool(*arguments: str) -> None:
    """Run a tool as `make lint` does and fail with what it said."""
    command = [sys.executable, "-m", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_ruff_finds_nothing_to_say() -> None:
    _tool("ruff", "check", "--quiet", ".")


@pytest.mark.slow
def test_every_file_is_formatted() -> None:
    _tool("ruff", "format", "--check", "--quiet", ".")


@pytest.mark.slow
def test_every_dependency_is_used_and_declared() -> None:
    _tool("deptry", ".")
