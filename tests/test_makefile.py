"""The verbs of the Makefile: they are listed, they exist, and a wrong Python is named at once."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
VERBS = {
    "bench",
    "chaos",
    "clean",
    "coverage",
    "demo",
    "format",
    "help",
    "lint",
    "lock",
    "quick",
    "setup",
    "test",
    "type",
}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


def _make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # `make test` runs these tests: its own flags and overrides are not theirs.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )


def test_make_alone_lists_every_verb() -> None:
    listed = re.findall(r"^  make (\w+) +\S", _make().stdout, flags=re.MULTILINE)
    assert set(listed) == VERBS


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_is_a_target(verb: str) -> None:
    run = _make("--dry-run", verb)
    assert run.returncode == 0, run.stderr


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A checkout in which nothing has been set up."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def test_an_old_python_is_refused_in_one_line(fresh: Path) -> None:
    old = fresh / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.1" && exit 0\nexit 1\n')
    old.chmod(0o755)
    run = _make("setup", f"PYTHON={old}", folder=fresh)
    said = [line for line in run.stderr.splitlines() if not line.startswith("make:")]
    assert run.returncode != 0
    assert len(said) == 1
    assert "needs Python >= 3.11" in said[0]
    assert "is Python 3.9.1" in said[0]
    assert not (fresh / ".venv").exists()


def test_a_missing_python_is_named_in_one_line(fresh: Path) -> None:
    run = _make("setup", "PYTHON=no-such-python", folder=fresh)
    said = [line for line in run.stderr.splitlines() if not line.startswith("make:")]
    assert run.returncode != 0
    assert len(said) == 1
    assert "there is no no-such-python" in said[0]
