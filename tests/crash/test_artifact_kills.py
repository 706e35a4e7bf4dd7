"""A put killed at any of its points leaves the payload whole or absent, never half."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from keptstep.models.ids import Sha256
from keptstep.models.stores.artifacts_fs import FileArtifactStore
from keptstep.testing.damage import file_of

pytestmark = pytest.mark.crash

KILLED = -9
DATA = bytes(range(256)) * 1024
SHA = Sha256(hashlib.sha256(DATA).hexdigest())
PUT = """
import sys
from pathlib import Path
from keptstep.models.stores.artifacts_fs import FileArtifactStore
from keptstep.testing.killpoints import kill_at

store = FileArtifactStore(Path(sys.argv[1]), 1 << 30)
kill_at(sys.argv[2], int(sys.argv[3]))
data = bytes(range(256)) * 1024
print(store.put([data[:1000], data[1000:]]).sha, flush=True)
"""


def killed_put(root: Path, point: str, nth: int = 1) -> str:
    """Run a put in a process of its own, see that it is killed, and return what it told."""
    done = subprocess.run(
        [sys.executable, "-c", PUT, str(root), point, str(nth)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == KILLED, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("point", "kept", "temporary"),
    [("keep.temporary", False, 1), ("keep.renamed", True, 0), ("keep.kept", True, 0)],
)
def test_a_killed_put_leaves_the_payload_whole_or_absent(
    tmp_path: Path, point: str, kept: bool, temporary: int
) -> None:
    assert killed_put(tmp_path, point) == ""
    store = FileArtifactStore(tmp_path, 1 << 30)
    assert store.intact(SHA) == kept
    assert list(store.shas()) == [SHA] * kept
    assert len(list((tmp_path / "tmp").iterdir())) == temporary


@pytest.mark.parametrize("point", ["keep.temporary", "keep.renamed", "keep.kept"])
def test_after_a_kill_the_next_put_keeps_the_payload_once(tmp_path: Path, point: str) -> None:
    killed_put(tmp_path, point)
    store = FileArtifactStore(tmp_path, 1 << 30)
    store.sweep_temporary(older_than=0)
    assert store.put([DATA]).sha == SHA
    assert store.read(SHA) == DATA
    files = [path for path in tmp_path.rglob("*") if not path.is_dir()]
    assert files == [file_of(tmp_path, SHA)]


def test_a_put_killed_over_a_kept_payload_leaves_it_as_it_was(tmp_path: Path) -> None:
    FileArtifactStore(tmp_path, 1 << 30).put([DATA])
    before = file_of(tmp_path, SHA).stat()
    for point in ("keep.temporary", "keep.kept"):
        killed_put(tmp_path, point)
    after = file_of(tmp_path, SHA).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert FileArtifactStore(tmp_path, 1 << 30).read(SHA) == DATA
