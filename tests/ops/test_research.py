"""research: a question and files in, a report out, whatever the folder and the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ops.conftest import Command

QUESTION = "How long is a lease?"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with two sources."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "lease.md").write_text("# Lease\n\nA lease is 15 seconds long.\n")
    (folder / "token.md").write_text("# Token\n\nA token grows with every lease.\n")
    return folder


@pytest.mark.slow
def test_the_report_goes_to_stdout_and_progress_to_stderr(process: Command, sources: Path) -> None:
    ran = process("research", QUESTION, "--source", str(sources))
    assert ran.code == 0
    assert ran.out.startswith(f"# {QUESTION}\n")
    assert "A lease is 15 seconds long." in ran.out
    assert f"kept in {os.path.dirname(sources)}" in ran.err.splitlines()[0]
    assert " step find done in " in ran.err
    assert ran.err.splitlines()[-1].endswith(" done")


def test_the_home_is_for_its_owner_alone(inside: Command, sources: Path, home: Path) -> None:
    assert inside("research", QUESTION, "-s", str(sources)).code == 0
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "keptstep.db").stat().st_mode & 0o777 == 0o600


def test_the_document_holds_the_report_and_stderr_stays_empty(
    inside: Command, sources: Path
) -> None:
    ran = inside("research", QUESTION, "-s", str(sources), "--json")
    assert (ran.code, ran.err) == (0, "")
    assert (ran.document["status"], ran.document["created"]) == ("done", True)
    assert ran.document["text"].startswith(f"# {QUESTION}\n")
    assert ran.document["result"]["media_type"].startswith("text/markdown")


def test_a_report_can_be_saved(inside: Command, sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    ran = inside("research", QUESTION, "-s", str(sources), "--out", str(out))
    assert (ran.code, ran.out) == (0, "")
    assert out.read_text().startswith(f"# {QUESTION}\n")
    assert f"saved to {out}" in ran.err


def test_sources_may_also_follow_the_question(inside: Command, sources: Path) -> None:
    files = sorted(str(path) for path in sources.iterdir())
    ran = inside("research", QUESTION, "--source", *files, "--json")
    assert (ran.code, ran.document["input"]["sources"]) == (0, files)


@pytest.mark.slow
def test_sources_are_kept_absolute_so_that_resume_works_from_elsewhere(
    process: Command, sources: Path, tmp_path: Path
) -> None:
    kept = process("research", QUESTION, "-s", "lease.md", "--detach", cwd=sources)
    assert kept.code == 0
    ran = process("resume", kept.out.strip(), cwd=tmp_path)
    assert (ran.code, "A lease is 15 seconds long." in ran.out) == (0, True)


def test_the_same_key_is_the_same_task(inside: Command, sources: Path) -> None:
    words = ("research", QUESTION, "-s", str(sources), "--key", "nightly", "--json")
    first, second = inside(*words), inside(*words)
    assert first.document["id"] == second.document["id"]
    assert [ran.document["created"] for ran in (first, second)] == [True, False]
    assert first.document["text"] == second.document["text"]
    assert len(inside("ls", "--json").document) == 1


def test_the_same_key_with_another_question_is_refused(inside: Command, sources: Path) -> None:
    inside("research", QUESTION, "-s", str(sources), "--key", "nightly", "--detach")
    other = inside("research", "What grows?", "-s", str(sources), "--key", "nightly", "--json")
    assert (other.code, other.out, other.error["kind"]) == (2, "", "KeyConflict")


def test_tasks_of_one_conversation_share_its_id(inside: Command, sources: Path) -> None:
    words = ("research", QUESTION, "-s", str(sources), "--detach", "--json")
    first = inside(*words).document["conversation_id"]
    second = inside(*words, "--conversation", first).document
    assert second["conversation_id"] == first


def test_a_detached_task_is_kept_and_not_begun(inside: Command, sources: Path) -> None:
    ran = inside("research", QUESTION, "-s", str(sources), "--detach")
    task = ran.out.strip()
    assert (ran.code, len(task)) == (0, 32)
    assert f"keptstep resume {task[-8:]}" in ran.err
    document = inside("show", task, "--json").document
    assert (document["status"], document["steps"]) == ("ready", [])


def test_sources_without_text_are_refused_before_anything_is_written(
    inside: Command, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "empty").mkdir()
    ran = inside("research", QUESTION, "-s", str(tmp_path / "empty"))
    assert (ran.code, ran.out) == (2, "")
    assert "no readable text in" in ran.err
    assert not home.exists()


def test_sources_that_went_away_fail_the_task_and_say_why(inside: Command, sources: Path) -> None:
    task = inside("research", QUESTION, "-s", str(sources), "--detach").out.strip()
    for path in sources.iterdir():
        path.unlink()
    ran = inside("resume", task)
    assert (ran.code, ran.out) == (1, "")
    assert f"failed: task {task[-8:]}: step find failed" in ran.err
    assert "no readable text in" in ran.err
    again = inside("resume", task, "--json")
    assert (again.code, again.out, again.error["kind"]) == (1, "", "TaskFailed")
    assert again.error["task_id"] == task


@pytest.mark.slow
def test_a_hostile_name_and_text_are_inert_in_the_report(process: Command, tmp_path: Path) -> None:
    source = tmp_path / "evil\x1b[2J\u202e.md"
    source.write_text("A lease \x1b]0;title\x07 is [bold]15[/bold] seconds \u202e long.\n")
    ran = process("research", "lease \x1b[31m seconds", "-s", str(source))
    assert ran.code == 0
    assert not set(ran.out + ran.err) & {"\x1b", "\x07", "\u202e"}
    assert "[bold]15[/bold]" in ran.out


@pytest.mark.slow
def test_a_source_whose_name_is_no_text_is_read(process: Command, tmp_path: Path) -> None:
    source = tmp_path / b"caf\xe9.md".decode("utf-8", "surrogateescape")
    source.write_text("A lease is 15 seconds long.\n")
    ran = process("research", QUESTION, "-s", str(source), "--json")
    assert (ran.code, "15 seconds" in ran.document["text"]) == (0, True)
    assert ran.out.isascii()


@pytest.mark.slow
def test_two_processes_share_one_home(started: object, process: Command, sources: Path) -> None:
    running = [
        started("research", f"{QUESTION} {number}", "-s", str(sources), "--json")  # type: ignore[operator]
        for number in range(2)
    ]
    outs = [one.communicate()[0] for one in running]
    assert [one.returncode for one in running] == [0, 0]
    assert all("15 seconds" in out for out in outs)
    assert len(process("ls", "--json").document) == 2
