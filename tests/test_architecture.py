"""The shape of the code: who may import whom, what stays pure, how long a file may get."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "keptstep"
MOST_LINES = 300


def test_imports_keep_the_contracts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    # It would silence every logger there is, for the tests that come after this one too.
    monkeypatch.setattr("importlinter.cli.logging_config.dictConfig", lambda _config: None)
    broken = lint_imports(no_cache=True, no_logo=True)
    assert not broken, capsys.readouterr().out


LOAD_AND_LIST = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    __import__(name)
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - sys.stdlib_module_names))
"""


def _pure_modules() -> list[str]:
    settings: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (pure,) = (contract for contract in contracts if contract.get("id") == "pure")
    modules: list[str] = pure["source_modules"]
    return modules


def test_the_pure_modules_load_with_the_standard_library_alone() -> None:
    # -S leaves out site-packages, -I the environment: only the checkout can be imported.
    command = [sys.executable, "-I", "-S", "-c", LOAD_AND_LIST, str(ROOT), *_pure_modules()]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ["keptstep"]), run.stderr


def test_importing_keptstep_loads_nothing_heavy() -> None:
    command = [sys.executable, "-I", "-S", "-c", LOAD_AND_LIST, str(ROOT), "keptstep"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ["keptstep"]), run.stderr


def _sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_files_stay_short() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in _sources()
    }
    assert lengths
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


@pytest.mark.parametrize("folder", ["keptstep", "tests", "demo", "bench"])
def test_every_import_of_ours_says_keptstep(folder: str) -> None:
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / folder).rglob("*.py")
        for name in _imported(path)
        if name.startswith(".") or name.partition(".")[0] in FOLDERS
    }
    assert wrong == set()


FOLDERS = ("models", "workflows", "workers", "ops")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_root_link_is_relative_and_leads_into_the_package(folder: str) -> None:
    link = ROOT / folder
    assert link.is_symlink()
    assert link.readlink() == Path("keptstep") / folder


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_package_cannot_be_loaded_under_a_second_name(folder: str) -> None:
    command = [sys.executable, "-I", "-S", "-c", LOAD_AND_LIST, str(ROOT), folder]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert f"ImportError: import keptstep.{folder}, not {folder}" in run.stderr
