"""Where the file store puts payloads, and what it refuses to read as one."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from keptstep.models import points
from keptstep.models.errors import (
    ArtifactCorrupt,
    ArtifactMissing,
    HomeNotWritable,
    StoreError,
    TooLarge,
)
from keptstep.models.ids import Sha256
from keptstep.models.stores.artifacts_fs import STALE, FileArtifactStore
from keptstep.testing.conformance_artifacts import look_alikes
from keptstep.testing.damage import file_of, tamper_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "home" / "blobs"


@pytest.fixture
def store(root: Path) -> FileArtifactStore:
    return FileArtifactStore(root, 1 << 20)


@pytest.fixture(autouse=True)
def _no_listener_stays() -> Iterator[None]:
    yield
    points.listen(None)


def temporary(root: Path) -> list[Path]:
    return list((root / "tmp").iterdir())


def test_a_payload_is_a_read_only_file_named_by_its_hash(
    store: FileArtifactStore, root: Path
) -> None:
    before = os.umask(0)
    try:
        sha = store.put([b"by its name"]).sha
    finally:
        os.umask(before)
    file = root / sha[:2] / sha
    assert file.read_bytes() == b"by its name"
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    assert temporary(root) == []


def test_folders_are_for_their_owner_alone(store: FileArtifactStore, root: Path) -> None:
    folders = [root.parent, root, *root.iterdir()]
    assert len(folders) == 2 + 256 + 2
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_equal_bytes_stay_the_file_they_are(store: FileArtifactStore, root: Path) -> None:
    sha = store.put([b"equal"]).sha
    first = file_of(root, sha).stat()
    store.put([b"eq", b"ual"])
    FileArtifactStore(root, 1 << 20).put([b"equal"])
    second = file_of(root, sha).stat()
    assert (first.st_ino, first.st_mtime_ns) == (second.st_ino, second.st_mtime_ns)
    assert temporary(root) == []


@pytest.mark.parametrize("broken", ["tampered", "cut", "longer", "empty"])
def test_a_broken_file_is_replaced_by_the_next_put(
    store: FileArtifactStore, root: Path, broken: str
) -> None:
    data = b"0123456789"
    sha = store.put([data]).sha
    file = file_of(root, sha)
    file.chmod(0o600)
    if broken == "tampered":
        tamper_file(root, sha)
    else:
        file.write_bytes({"cut": data[:5], "longer": data + b"!", "empty": b""}[broken])
    assert not store.intact(sha)
    store.put([data])
    assert store.read(sha) == data
    assert temporary(root) == []


def put_in_place(file: Path, what: str) -> None:
    """Put something that is no regular file where a payload belongs."""
    moved = file.with_name("moved")
    file.rename(moved)
    if what == "link to the same bytes":
        file.symlink_to(moved)
    elif what == "dangling link":
        file.symlink_to("nowhere")
    elif what == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()


@pytest.mark.parametrize("what", ["link to the same bytes", "dangling link", "pipe", "folder"])
def test_only_a_regular_file_is_read(store: FileArtifactStore, root: Path, what: str) -> None:
    sha = store.put([b"regular"]).sha
    put_in_place(file_of(root, sha), what)
    for read in (store.read, store.open):
        with pytest.raises(ArtifactCorrupt, match="something else stands in its place"):
            read(sha)
    assert not store.intact(sha)
    assert list(store.shas()) == []


@pytest.mark.parametrize("what", ["link to the same bytes", "dangling link", "pipe"])
def test_a_put_takes_the_place_of_what_is_no_file(
    store: FileArtifactStore, root: Path, what: str
) -> None:
    sha = store.put([b"regular"]).sha
    put_in_place(file_of(root, sha), what)
    store.put([b"regular"])
    assert store.read(sha) == b"regular"
    assert stat.S_ISREG(file_of(root, sha).lstat().st_mode)


def test_a_folder_in_the_place_of_a_payload_fails_the_put(
    store: FileArtifactStore, root: Path
) -> None:
    sha = store.put([b"regular"]).sha
    put_in_place(file_of(root, sha), "folder")
    with pytest.raises(StoreError, match="Is a directory"):
        store.put([b"regular"])
    assert temporary(root) == []


def test_a_look_alike_never_becomes_a_path(
    store: FileArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(path: object, *_arguments: object, **_named: object) -> int:
        raise AssertionError(f"the look-alike reached the file system: {path!r}")

    sha = store.put([b"look at me"]).sha
    monkeypatch.setattr(os, "open", touched)
    for alike in look_alikes(sha):
        with pytest.raises(ArtifactMissing):
            store.read(Sha256(alike))
        with pytest.raises(ArtifactMissing):
            store.open(Sha256(alike))


def test_what_is_not_a_payload_is_not_listed(store: FileArtifactStore, root: Path) -> None:
    sha = store.put([b"listed"]).sha
    folder = file_of(root, sha).parent
    (folder / sha.upper()).write_bytes(b"")
    (folder / "notes.txt").write_bytes(b"")
    (root / "tmp" / ("e" * 64)).write_bytes(b"")
    assert list(store.shas()) == [sha]


def test_an_open_payload_outlives_its_file(store: FileArtifactStore, root: Path) -> None:
    sha = store.put([b"still here"]).sha
    with store.open(sha) as file:
        file_of(root, sha).unlink()
        assert file.read() == b"still here"


def test_reading_checks_and_hands_out_one_and_the_same_file(
    store: FileArtifactStore, root: Path
) -> None:
    sha = store.put([b"the checked one"]).sha
    with store.open(sha) as file:
        other = root / "other"
        other.write_bytes(b"the swapped one")
        other.replace(file_of(root, sha))
        assert file.read() == b"the checked one"


@pytest.mark.parametrize(("chunks", "error"), [([b"x" * 11], TooLarge), ([b"x", None], TypeError)])
def test_a_refused_put_leaves_no_file_of_any_kind(
    root: Path, chunks: list[bytes], error: type[Exception]
) -> None:
    store = FileArtifactStore(root, 10)
    before = sorted(root.rglob("*"))
    with pytest.raises(error):
        store.put(chunks)
    assert sorted(root.rglob("*")) == before


def test_old_temporary_files_are_swept_when_the_store_opens(
    store: FileArtifactStore, root: Path
) -> None:
    old, young = root / "tmp" / "old", root / "tmp" / "young"
    for path in (old, young):
        path.write_bytes(b"")
    os.utime(old, (0, old.stat().st_mtime - STALE - 60))
    FileArtifactStore(root, 10)
    assert temporary(root) == [young]
    assert store.sweep_temporary(older_than=0) == 1
    assert temporary(root) == []


def test_a_second_store_finds_the_folders_and_the_payloads_of_the_first(
    store: FileArtifactStore, root: Path
) -> None:
    sha = store.put([b"kept"]).sha
    (root / "00").rmdir()  # as if the first start had been cut off
    again = FileArtifactStore(root, 10)
    assert again.read(sha) == b"kept"
    assert (root / "00").is_dir()


def test_a_place_that_is_a_file_is_explained(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"")
    for root in (place, place / "below"):
        with pytest.raises(HomeNotWritable, match=r"file.*: choose another folder$"):
            FileArtifactStore(root, 10)


def test_every_point_of_a_put_is_reached_in_order(store: FileArtifactStore) -> None:
    reached: list[str] = []
    points.listen(reached.append)
    store.put([b"new"])
    store.put([b"new"])
    new, known = ["keep.temporary", "keep.renamed", "keep.kept"], ["keep.temporary", "keep.kept"]
    assert reached == new + known


def test_no_put_returns_on_a_name_that_another_thread_has_not_synced_yet(
    store: FileArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, str]] = []
    second_is_near = threading.Event()
    second = threading.Thread(target=store.put, args=([b"same"],), name="second")

    def note(what: str) -> None:
        log.append((threading.current_thread().name, what))

    def listener(name: str) -> None:
        note(name)
        if name == "keep.renamed":  # the name is visible, its folder not synced
            second.start()
            assert second_is_near.wait(30)
        elif threading.current_thread() is second:
            second_is_near.set()

    def fsync(fd: int) -> None:
        sync(fd)
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            note("folder synced")

    sync = os.fsync
    monkeypatch.setattr(os, "fsync", fsync)
    points.listen(listener)
    store.put([b"same"])
    second.join(30)
    own = [what for name, what in log if name == "second"]
    assert own == ["keep.temporary", "folder synced", "keep.kept"]
    assert log.index(("MainThread", "folder synced")) < log.index(("second", "folder synced"))
