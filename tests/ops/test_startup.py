"""Starting is quick: nothing heavy is loaded for what needs nothing heavy."""

import subprocess
import sys

import pytest

from tests.ops.conftest import ROOT

HEAVY = {"alembic", "dramatiq", "rich", "sqlalchemy", "sqlmodel"}
LISTED = """
import sys
sys.argv = ["keptstep", *sys.argv[1:]]
from keptstep.ops.cli import main
try:
    main()
except SystemExit as end:
    print(end.code, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded_by(*words: str) -> tuple[str, set[str], str]:
    """Run the command and return its code, the top-level modules it loaded, and its output."""
    command = [sys.executable, "-c", LISTED, *words]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    code, *modules = run.stderr.split()
    return code, set(modules), run.stdout


@pytest.mark.parametrize("words", [("version",), ("--help",), ("research", "--help")])
def test_version_and_help_load_nothing_heavy(words: tuple[str, ...]) -> None:
    code, modules, _ = loaded_by(*words)
    assert code in {"None", "0"}
    assert "typer" in modules
    assert modules & HEAVY == set()


def test_version_names_version_and_schema() -> None:
    _, _, out = loaded_by("version")
    assert out.startswith("keptstep ")
    assert "(schema " in out


def test_reading_loads_no_queue(tmp_path: object) -> None:
    _, modules, _ = loaded_by("ls", "--home", f"{tmp_path}/none")
    assert "dramatiq" not in modules
    assert "sqlalchemy" not in modules


def test_the_supervisor_loads_no_database_and_no_queue() -> None:
    """What it does not load cannot fail in it."""
    script = (
        "import keptstep.ops.commands.worker, keptstep.ops.supervising, sys; print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = {name.partition(".")[0] for name in run.stdout.split()}
    assert "typer" in modules
    assert modules & (HEAVY | {"redis", "pydantic"}) == set()
