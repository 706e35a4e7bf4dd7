"""A put that the system refused is never taken for a kept one, not even by the next put."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from keptstep.models.errors import ArtifactCorrupt, ArtifactMissing, StoreError
from keptstep.models.stores.artifacts_fs import FileArtifactStore
from keptstep.testing.damage import file_of

DATA = b"must be kept for good"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def store(root: Path) -> FileArtifactStore:
    return FileArtifactStore(root, 1 << 20)


class Disk:
    """A disk that fails the named call while ``broken``, for files or for folders."""

    def __init__(
        self, patch: pytest.MonkeyPatch, call: str, number: int, *, folders: bool
    ) -> None:
        self.broken = True
        self.calls = 0
        really: Callable[..., object] = getattr(os, call)

        def faulty(fd: int, *arguments: object) -> object:
            if self.broken and stat.S_ISDIR(os.fstat(fd).st_mode) == folders:
                self.calls += 1
                raise OSError(number, os.strerror(number))
            return really(fd, *arguments)

        patch.setattr(os, call, faulty)


def left_behind(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if not path.is_dir()]


def inode(root: Path, sha: str) -> int:
    return (root / sha[:2] / sha).stat().st_ino


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EIO, "check the disk"),
        (errno.ESTALE, "try again"),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync", "close"])
def test_a_refused_write_is_explained_and_nothing_stays(
    store: FileArtifactStore,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    number: int,
    advice: str,
) -> None:
    disk = Disk(monkeypatch, call, number, folders=False)
    with pytest.raises(StoreError, match=f"{os.strerror(number)}.*{advice}") as caught:
        store.put([DATA])
    disk.broken = False
    assert "\n" not in str(caught.value)
    assert disk.calls == 1
    assert left_behind(root) == []
    assert store.read(store.put([DATA]).sha) == DATA


def test_a_full_disk_found_half_way_leaves_nothing(
    store: FileArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.write

    def half(fd: int, data: bytes) -> int:
        if len(data) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(StoreError, match="free some space"):
        store.put([DATA])
    assert left_behind(root) == []


def test_writes_that_take_only_a_part_are_carried_on(
    store: FileArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: really(fd, data[:3]))
    assert store.read(store.put([DATA]).sha) == DATA


class TestAfterAFailedSyncOfTheFolder:
    """The name is visible, whether it is on the disk nobody knows."""

    @pytest.fixture
    def disk(self, monkeypatch: pytest.MonkeyPatch, store: FileArtifactStore) -> Disk:
        return Disk(monkeypatch, "fsync", errno.EIO, folders=True)

    @pytest.fixture
    def sha(self, store: FileArtifactStore, root: Path, disk: Disk) -> str:
        with pytest.raises(StoreError, match="check the disk"):
            store.put([DATA])
        (sha,) = store.shas()
        disk.broken = False
        return sha

    def test_the_next_put_fails_too_while_the_disk_does(
        self, store: FileArtifactStore, disk: Disk, sha: str
    ) -> None:
        disk.broken = True
        for _attempt in range(2):
            with pytest.raises(StoreError):
                store.put([DATA])

    def test_the_next_put_writes_the_file_anew_instead_of_finding_it(
        self, store: FileArtifactStore, root: Path, sha: str
    ) -> None:
        doubted = inode(root, sha)
        store.put([DATA])
        assert inode(root, sha) != doubted

    def test_another_process_does_not_find_it_either(
        self, store: FileArtifactStore, root: Path, sha: str
    ) -> None:
        doubted = inode(root, sha)
        FileArtifactStore(root, 1 << 20).put([DATA])
        assert inode(root, sha) != doubted

    def test_the_doubt_ends_with_the_first_put_that_succeeds(
        self, store: FileArtifactStore, root: Path, sha: str
    ) -> None:
        store.put([DATA])
        trusted = inode(root, sha)
        store.put([DATA])
        FileArtifactStore(root, 1 << 20).put([DATA])
        assert inode(root, sha) == trusted
        assert left_behind(root) == [file_of(root, store.put([DATA]).sha)]

    def test_other_payloads_are_not_doubted(
        self, store: FileArtifactStore, root: Path, sha: str
    ) -> None:
        other = store.put([b"other"]).sha
        before = inode(root, other)
        store.put([b"other"])
        assert inode(root, other) == before


def test_a_doubt_that_cannot_be_written_down_is_remembered(
    store: FileArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "suspect").rmdir()
    disk = Disk(monkeypatch, "fsync", errno.EIO, folders=True)
    with pytest.raises(StoreError):
        store.put([DATA])
    disk.broken = False
    (sha,) = store.shas()
    doubted = inode(root, sha)
    store.put([DATA])
    assert inode(root, sha) != doubted


def test_a_known_name_whose_folder_cannot_be_synced_is_doubted(
    store: FileArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = store.put([DATA]).sha
    before = inode(root, sha)
    disk = Disk(monkeypatch, "fsync", errno.EIO, folders=True)
    with pytest.raises(StoreError):
        store.put([DATA])
    disk.broken = False
    assert store.read(sha) == DATA  # others may hold it: it is never taken away
    store.put([DATA])
    assert inode(root, sha) != before


def test_a_file_the_disk_cannot_read_is_damaged_and_replaced_by_a_put(
    store: FileArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = store.put([DATA]).sha
    disk = Disk(monkeypatch, "read", errno.EIO, folders=False)
    with pytest.raises(ArtifactCorrupt, match="the disk cannot read it"):
        store.open(sha)
    store.put([DATA])
    disk.broken = False
    assert store.read(sha) == DATA


def test_too_many_open_files_say_nothing_about_a_payload(
    store: FileArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object, *_arguments: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    sha = store.put([DATA]).sha
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        for read in (store.read, store.open, store.intact):
            with pytest.raises(StoreError, match="raise the limit of open files") as caught:
                read(sha)
            assert not isinstance(caught.value, ArtifactMissing | ArtifactCorrupt)
    assert store.intact(sha)
