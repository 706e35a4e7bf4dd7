"""The reader of traces finds every missing sync, and nothing in a clean trace."""

from pathlib import Path

import pytest

from keptstep.testing.synctrace import Call, count_syncs, missing_syncs, parse, until

CLEAN = """\
7 openat(AT_FDCWD</cwd>, "/store/tmp/t", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0444) = 3</store/tmp/t>
7 write(3</store/tmp/t>, ""..., 9) = 9
7 fsync(3</store/tmp/t>) = 0
7 rename("/store/tmp/t", "/store/ab/name") = 0
7 fsync(4</store/ab>) = 0
7 openat(AT_FDCWD</cwd>, "/store/told", O_RDONLY) = -1 ENOENT (No such file or directory)
7 write(5</store/told>, ""..., 1) = 1
""".splitlines()


def without(number: int) -> list[Call]:
    """Return the clean trace without one of its lines."""
    return parse(CLEAN[:number] + CLEAN[number + 1 :])


def test_a_put_with_both_syncs_is_clean() -> None:
    assert missing_syncs(parse(CLEAN), Path("/store"), told="/told") == []


def test_a_put_without_the_sync_of_its_file_is_flagged() -> None:
    (found,) = missing_syncs(without(2), Path("/store"), told="/told")
    assert found == "renamed before its bytes were synced: /store/tmp/t to /store/ab/name"


def test_a_put_without_the_sync_of_its_folder_is_flagged() -> None:
    found = missing_syncs(without(4), Path("/store"), told="/told")
    assert found == ["name not synced: /store/ab/name"]


def test_a_file_made_in_place_needs_the_sync_of_its_folder() -> None:
    lines = [
        '7 openat(AT_FDCWD</>, "/s/name", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</s/name>',
        '7 write(3</s/name>, ""..., 9) = 9',
        "7 fdatasync(3</s/name>) = 0",
    ]
    assert missing_syncs(parse(lines)) == ["name not synced: /s/name"]


def test_bytes_written_after_the_last_sync_are_flagged() -> None:
    lines = ["7 fdatasync(3</s/db-wal>) = 0", '7 pwrite64(3</s/db-wal>, ""..., 9, 32) = 9']
    assert missing_syncs(parse(lines)) == ["bytes not synced: /s/db-wal"]
    assert missing_syncs(parse(lines[::-1])) == []


def test_a_sync_that_began_before_the_write_ended_does_not_cover_it() -> None:
    lines = [
        '8 write(3</s/f>, ""..., 9 <unfinished ...>',
        "7 fsync(3</s/f> <unfinished ...>",
        "8 <... write resumed>) = 9",
        "7 <... fsync resumed>) = 0",
    ]
    assert missing_syncs(parse(lines)) == ["bytes not synced: /s/f"]


def test_a_failed_sync_is_no_sync() -> None:
    lines = [
        '7 write(3</s/f>, ""..., 9) = 9',
        "7 fsync(3</s/f>) = -1 EIO (Input/output error)",
    ]
    assert missing_syncs(parse(lines)) == ["bytes not synced: /s/f"]
    assert count_syncs(parse(lines), "/f") == 0


def test_a_new_folder_needs_the_sync_of_the_one_above() -> None:
    lines = ['7 mkdir("/s/ab", 0700) = 0', "7 fsync(3</s/ab>) = 0"]
    assert missing_syncs(parse(lines)) == ["name not synced: /s/ab"]
    assert missing_syncs(parse([*lines, "7 fsync(3</s>) = 0"])) == []


def test_what_was_removed_again_needs_no_sync() -> None:
    lines = [
        '7 openat(AT_FDCWD</>, "/s/t", O_WRONLY|O_CREAT|O_EXCL, 0444) = 3</s/t>',
        '7 write(3</s/t>, ""..., 9) = 9',
        '7 unlink("/s/t") = 0',
    ]
    assert missing_syncs(parse(lines)) == []


def test_files_elsewhere_are_not_looked_at() -> None:
    lines = ['7 write(1</var/log/x>, ""..., 9) = 9', '7 write(2</store2/x>, ""..., 9) = 9']
    assert missing_syncs(parse(lines), Path("/store")) == []


def test_names_are_read_whole_whatever_they_hold() -> None:
    lines = [r'7 renameat2(3</s/a\303\251>, "b \"c\"", 4</s/d>, "../e", 0) = 0']
    (call,) = parse(lines)
    assert (call.path, call.target) == ('/s/aé/b "c"', "/s/e")


def test_syncs_are_counted_by_the_end_of_the_path() -> None:
    lines = ["7 fdatasync(3</s/a-wal>) = 0", "7 fsync(3</s/a-wal>) = 0", "7 fsync(4</s>) = 0"]
    assert count_syncs(parse(lines), "-wal") == 2


def test_a_trace_is_cut_at_the_first_sign_of_the_return() -> None:
    calls = until(parse(CLEAN), "/told")
    assert [call.name for call in calls] == ["openat", "write", "fsync", "rename", "fsync"]
    with pytest.raises(ValueError, match="no call on a path"):
        until(calls, "/told")
