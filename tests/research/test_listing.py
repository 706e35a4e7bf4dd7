"""Sources become a list of files in one order, whatever lies among them."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from keptstep.models.errors import BadInput, Permanent
from keptstep.workers.research import find
from keptstep.workers.research.records import Found

EVERYTHING = ["a.txt", "b.md", "sub/c.py", "sub/e.rst", "sub/deep/d.html"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.md", "a.txt", "sub/c.py", "sub/deep/d.html", "sub/e.rst"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n")
    return tmp_path


def listed(*sources: object, **limits: int) -> Found:
    return find([str(source) for source in sources], **limits)


def names(found: Found, root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in found.files]


def skipped(found: Found) -> dict[str, str]:
    return {os.path.basename(one.path): one.why for one in found.skipped}


def test_a_folder_gives_all_files_below_it_in_the_order_of_names(tree: Path) -> None:
    assert names(listed(tree), tree) == [
        "a.txt",
        "b.md",
        "sub/c.py",
        "sub/e.rst",
        "sub/deep/d.html",
    ]


@pytest.mark.parametrize(
    ("glob", "matched"),
    [
        ("*.md", ["b.md"]),
        ("*", EVERYTHING),
        ("**/*.html", ["sub/deep/d.html"]),
        ("**/*.md", ["b.md"]),
        ("sub/**", ["sub/c.py", "sub/e.rst", "sub/deep/d.html"]),
        ("s?b/[c-d].py", ["sub/c.py"]),
        ("sub/[!c].*", ["sub/e.rst"]),
        ("sub/d*", ["sub/deep/d.html"]),
    ],
)
def test_a_glob_gives_what_it_matches(tree: Path, glob: str, matched: list[str]) -> None:
    assert names(listed(tree / glob), tree) == matched


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("text")
    assert names(listed(tmp_path / "a[1].txt"), tmp_path) == ["a[1].txt"]


def test_the_kind_of_a_file_is_told_by_its_name_or_its_beginning(tree: Path) -> None:
    (tree / "page").write_text("<!-- note --><!DOCTYPE html><p>x")
    (tree / "script").write_text("#!/bin/sh\nls\n")
    media = {Path(file.path).name: file.media for file in listed(tree).files}
    assert media["page"] == media["d.html"] == "text/html"
    assert media["script"] == media["c.py"] == "text/x-source"
    assert (media["b.md"], media["a.txt"]) == ("text/markdown", "text/plain")


def test_hidden_files_and_caches_are_counted_and_not_read(tree: Path) -> None:
    for name in (".git/config", "__pycache__/c.py", ".env", "venv/pyvenv.cfg", "tmp/CACHEDIR.TAG"):
        path = tree / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("text")
    found = listed(tree)
    assert len(found.files) == 5
    assert found.hidden == 5


def test_a_hidden_folder_that_is_asked_for_by_name_is_read(tree: Path) -> None:
    (tree / ".notes").mkdir()
    (tree / ".notes" / "a.md").write_text("text")
    assert names(listed(tree / ".notes"), tree) == [".notes/a.md"]


def test_files_that_hold_no_text_are_told_of(tree: Path) -> None:
    (tree / "empty").write_bytes(b"")
    (tree / "paper.pdf").write_bytes(b"%PDF-1.7\n%text all the same\n")
    (tree / "noise.bin").write_bytes(bytes(range(256)) * 9)
    (tree / "old.gz").write_bytes(b"\x1f\x8b\x08")
    found = listed(tree)
    assert len(found.files) == 5
    assert skipped(found) == {
        "empty": "is empty",
        "paper.pdf": "is a PDF, not plain text",
        "noise.bin": "is binary, not text",
        "old.gz": "is compressed, not plain text",
    }


def test_a_file_of_two_gigabytes_is_refused_by_its_size(tree: Path) -> None:
    with (tree / "huge.txt").open("wb") as file:
        file.truncate(2_000_000_000)
    assert skipped(listed(tree)) == {"huge.txt": "is 2 GB, over the limit of 20 MB"}


def test_the_limit_of_size_can_be_set(tree: Path) -> None:
    found = listed(tree, max_size=14)
    assert names(found, tree) == ["a.txt", "b.md"]
    assert skipped(found)["c.py"] == "is 17 bytes, over the limit of 14 bytes"


def test_the_limit_of_files_is_told_of(tree: Path) -> None:
    found = listed(tree, max_files=2)
    assert names(found, tree) == ["a.txt", "b.md"]
    assert skipped(found) == {"": "more than 2 files: 3 further ones were not read"}


def test_a_file_reached_twice_is_read_once(tree: Path) -> None:
    os.link(tree / "a.txt", tree / "z.txt")
    found = listed(tree / "a.txt", tree, tree / "sub" / ".." / "b.md")
    assert len(found.files) == 5
    assert skipped(found) == {"z.txt": f"is the same file as {tree / 'a.txt'}"}


def test_a_link_back_into_its_own_folder_ends(tree: Path) -> None:
    (tree / "sub" / "loop").symlink_to(tree)
    found = listed(tree)
    assert len(found.files) == 5
    assert skipped(found) == {"loop": "is a link that leads to no file inside the folder"}


def test_a_link_out_of_the_folder_is_not_followed(tree: Path) -> None:
    secret = tree.parent / f"{tree.name}-secret"
    secret.write_text("the password is hidden here")
    (tree / "innocent.txt").symlink_to(secret)
    assert "innocent.txt" in skipped(listed(tree))
    assert names(listed(tree / "innocent.txt"), tree) == ["innocent.txt"]


@pytest.fixture
def odd(tree: Path) -> Iterator[Path]:
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()
        os.chdir(tree)  # the path of a socket has a short limit
        listening.bind("sock")
        os.chdir(before)
        yield tree


def test_pipes_and_sockets_and_devices_are_not_waited_for(odd: Path) -> None:
    found = listed(odd, "/dev/zero")
    assert len(found.files) == 5
    assert skipped(found) == {
        "pipe": "is a named pipe, not a file",
        "sock": "is a socket, not a file",
        "zero": "is a device, not a file",
    }


def test_what_may_not_be_read_is_told_of(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root everything may be read, so the refusal is played."""
    closed, shut = str(tree / "a.txt"), str(tree / "sub")
    real_open, real_scan = os.open, os.scandir

    def refusing_open(path: str, *rest: int) -> int:
        if path == closed:
            raise PermissionError(13, "Permission denied", path)
        return real_open(path, *rest)

    def refusing_scan(path: str) -> object:
        if path == shut:
            raise PermissionError(13, "Permission denied", path)
        return real_scan(path)

    monkeypatch.setattr(os, "open", refusing_open)
    monkeypatch.setattr(os, "scandir", refusing_scan)
    found = listed(tree)
    assert names(found, tree) == ["b.md"]
    why = "may not be read (permission denied)"
    assert skipped(found) == {"a.txt": why, "sub": why}


def test_a_source_that_went_away_since_it_was_checked_is_told_of(tree: Path) -> None:
    found = listed(tree, tree / "gone.md", tree / "gone*.md")
    assert skipped(found) == {"gone.md": "is not there", "gone*.md": "matches no file"}


def test_names_may_hold_anything_a_file_system_takes(tmp_path: Path) -> None:
    odd_names = [b"line\nbreak.txt", b"caf\xe9.txt", b"pipe|`tick`.txt", "한글.txt".encode()]
    for name in odd_names:
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write("text")
    found = listed(tmp_path)
    assert sorted(os.fsencode(os.path.basename(file.path)) for file in found.files) == sorted(
        odd_names
    )


def test_nothing_to_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(100))
    (tmp_path / "b.txt").write_bytes(b"")
    with pytest.raises(Permanent) as failed:
        listed(tmp_path)
    assert str(failed.value) == (
        f"no readable text in: {tmp_path} ({tmp_path}/a.bin is binary, not text; "
        f"{tmp_path}/b.txt is empty)"
    )


def test_a_glob_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="is wrong: look at its"):
        listed(tmp_path / "[z-a].txt")


def test_the_same_sources_give_the_same_list(tree: Path) -> None:
    assert listed(tree, tree / "**/*.md") == listed(tree, tree / "**/*.md")


def test_bad_input_is_not_raised_as_itself_where_a_step_would_try_again() -> None:
    with pytest.raises(Permanent, match="a source is empty"):
        listed("  ")
    assert not issubclass(Permanent, BadInput)
