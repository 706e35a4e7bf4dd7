"""A put has synced its file before the name is visible, and the name before it returns."""

import shutil
import sys
from pathlib import Path

import pytest

from keptstep.testing.synctrace import Call, count_syncs, missing_syncs, trace, until
from tests.services import under_ci

pytestmark = pytest.mark.crash

#: Runs ``put(root)`` and then tells the world, by a write to the file ``told``.
HEAD = """
import os, sys
from pathlib import Path

root, told = Path(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
"""
TELL = """
put(root)
os.write(told, b"!")
"""
OURS = """
from keptstep.models.stores.artifacts_fs import FileArtifactStore

def put(root):
    FileArtifactStore(root, 100).put([b"to be ", b"kept"])
"""
OPENED = """
import sys
from pathlib import Path
from keptstep.models.stores.artifacts_fs import FileArtifactStore

FileArtifactStore(Path(sys.argv[1]), 100)
"""
TWICE = OURS + "put(root)\n"
#: As ours should be, in plain calls: each of the wrong ones leaves one thing out.
PLAIN = """
def put(root):
    file = os.open(root / "tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    folder = os.open(root, os.O_RDONLY)
    os.write(file, b"kept")
    os.fsync(file)
    os.rename(root / "tmp", root / "name")
    os.fsync(folder)
"""


@pytest.fixture(autouse=True)
def _strace() -> None:
    """Skip where calls cannot be traced; a CI run that skipped this would prove nothing."""
    if shutil.which("strace") is None:
        missing = "no strace: install it to check the order of syncs"
        if under_ci():
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)


def traced(tmp_path: Path, put: str) -> list[Call]:
    root = tmp_path / "blobs"
    root.mkdir()
    return trace([sys.executable, "-c", HEAD + put + TELL, str(root), str(tmp_path / "told")])


def lost(calls: list[Call], tmp_path: Path) -> list[str]:
    """Return what a power cut would have lost at the moment the put returned."""
    assert until([call for call in calls if call.name == "write"], "/told")
    return missing_syncs(calls, tmp_path / "blobs", told="/told")


def test_a_put_loses_nothing_to_a_power_cut(tmp_path: Path) -> None:
    calls = traced(tmp_path, OURS)
    assert lost(calls, tmp_path) == []
    (rename,) = [call for call in calls if call.name.startswith("rename")]
    before, after = calls[: calls.index(rename)], calls[calls.index(rename) :]
    folder = str(Path(rename.target).parent)
    assert count_syncs(before, rename.path) == 1
    assert count_syncs(until(after, "/told"), folder) == 1


def test_a_put_that_finds_its_bytes_syncs_their_name_all_the_same(tmp_path: Path) -> None:
    calls = traced(tmp_path, TWICE)
    assert lost(calls, tmp_path) == []
    (rename,) = [call for call in calls if call.name.startswith("rename")]
    found = until(calls[calls.index(rename) :], "/told")
    assert count_syncs(found, str(Path(rename.target).parent)) == 2
    assert count_syncs(found, rename.target) == 1


def test_the_folders_of_a_new_store_are_synced(tmp_path: Path) -> None:
    calls = trace([sys.executable, "-c", OPENED, str(tmp_path / "new" / "blobs")])
    assert sum(call.name.startswith("mkdir") for call in calls) == 2 + 256 + 2
    assert missing_syncs(calls, tmp_path) == []


def test_the_check_itself_accepts_a_right_put(tmp_path: Path) -> None:
    assert lost(traced(tmp_path, PLAIN), tmp_path) == []


@pytest.mark.parametrize(
    ("left_out", "flagged"),
    [
        ("    os.fsync(file)\n", "renamed before its bytes were synced"),
        ("    os.fsync(folder)\n", "name not synced"),
        ('    os.rename(root / "tmp", root / "name")\n    os.fsync(folder)\n', "name not synced"),
    ],
)
def test_the_check_itself_flags_a_wrong_put(tmp_path: Path, left_out: str, flagged: str) -> None:
    assert left_out in PLAIN
    found = lost(traced(tmp_path, PLAIN.replace(left_out, "")), tmp_path)
    assert [line.partition(":")[0] for line in found] == [flagged]
