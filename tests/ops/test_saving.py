"""An output file is written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from keptstep.models.errors import BadInput
from keptstep.ops.endings import Ending
from keptstep.ops.saving import check_out, save


def test_a_file_is_written_with_the_rights_a_new_file_has(tmp_path: Path) -> None:
    before = os.umask(0o022)
    assert save(tmp_path / "out", [b"ab", b"c"], force=False) == 3
    os.umask(before)
    assert (tmp_path / "out").read_bytes() == b"abc"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_chunks_that_fail_leave_nothing(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "out", chunks(), force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_comes_about_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"ours"
        (tmp_path / "out").write_text("theirs")

    with pytest.raises(BadInput, match="exists"):
        save(tmp_path / "out", chunks(), force=False)
    assert (tmp_path / "out").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_without_links_a_file_is_still_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    save(tmp_path / "out", [b"first"], force=False)
    with pytest.raises(BadInput):
        save(tmp_path / "out", [b"second"], force=False)
    assert (tmp_path / "out").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_full_disk_ends_with_74_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Ending, match="No space left") as ended:
        save(tmp_path / "out", [b"x"], force=False)
    assert ended.value.code == 74
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("force", [False, True])
def test_a_device_a_folder_and_a_pipe_are_never_replaced(tmp_path: Path, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (Path("/dev/null"), tmp_path, tmp_path / "pipe"):
        with pytest.raises(BadInput, match="no regular file"):
            check_out(place, force=force)


def test_a_link_to_nowhere_counts_as_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput):
        check_out(tmp_path / "link", force=False)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no folder"):
        check_out(tmp_path / "none" / "out", force=False)
    check_out(tmp_path / "out", force=False)
    check_out(None, force=False)
