"""What is shipped: one package in the wheel, no links in the source archive."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import keptstep

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "keptstep"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return folder


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names} == {
        "keptstep",
        f"keptstep-{keptstep.__version__}.dist-info",
    }
    code = (path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".lua"})
    ours = {str(path.relative_to(ROOT)) for path in code}
    assert ours | {"keptstep/py.typed"} <= names


@pytest.mark.slow
def test_the_source_archive_holds_no_link_and_no_second_copy(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
    assert [member.name for member in members if member.issym() or member.islnk()] == []
    tops = {member.name.split("/")[1] for member in members}
    assert not tops & {"models", "workflows", "workers", "ops"}
    assert "keptstep" in tops
