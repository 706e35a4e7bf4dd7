"""What a person can see to be wrong is refused before a task is submitted."""

import os
from pathlib import Path

import pytest

from keptstep.models.errors import BadInput
from keptstep.workers.research import check_sources, resolve
from keptstep.workflows.research import LONGEST_QUESTION, check_question


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
def test_an_empty_question_is_refused(question: str) -> None:
    with pytest.raises(BadInput, match="the question is empty"):
        check_question(question)


def test_a_question_as_long_as_a_document_is_refused() -> None:
    with pytest.raises(BadInput, match="4001 characters, over the limit of 4000"):
        check_question("x" * (LONGEST_QUESTION + 1))


def test_a_question_loses_only_the_space_around_it() -> None:
    assert check_question("  What  is\nit? \n") == "What  is\nit?"


def test_no_source_is_refused() -> None:
    with pytest.raises(BadInput, match="no source was given"):
        check_sources([])


@pytest.mark.parametrize("source", ["", "  "])
def test_an_empty_source_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(BadInput, match="a source is empty"):
        check_sources([str(tmp_path), source])


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"the source .*/nowhere\.md is not there"):
        check_sources([str(tmp_path), str(tmp_path / "nowhere.md")])


def test_a_glob_that_matches_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text")
    with pytest.raises(BadInput, match=r"/\*\.rst matches no file"):
        check_sources([str(tmp_path / "*.md"), str(tmp_path / "*.rst")])


def test_sources_with_nothing_to_read_are_refused_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(100))
    (tmp_path / "folder").mkdir()
    given = [str(tmp_path / "a.bin"), str(tmp_path / "folder"), "/dev/null"]
    with pytest.raises(BadInput) as refused:
        check_sources(given)
    assert str(refused.value) == (
        f"no readable text in: {', '.join(given)} ({given[0]} is binary, not text; "
        "/dev/null is a device, not a file)"
    )


def test_one_readable_file_is_enough(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(100))
    (tmp_path / "z.txt").write_text("text")
    assert check_sources([str(tmp_path)]) == [str(tmp_path)]


def test_a_source_that_may_not_be_looked_at_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(path: str, **rest: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "stat", refusing)
    with pytest.raises(BadInput, match=r"/a.txt may not be read \(permission denied\)$"):
        check_sources([str(tmp_path / "a.txt")])


def test_the_message_about_a_source_is_one_line_that_cannot_steer_a_terminal(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput) as refused:
        check_sources([str(tmp_path / "a\n\x1b[2Jb\x00")])
    assert r"a\n\x1b[2Jb\x00 is no path" in str(refused.value)
    assert str(refused.value).isprintable()


def test_sources_become_absolute_and_are_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("text")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    given = ["a.md", "./a.md", "~/a.md", "*.md", os.curdir]
    assert check_sources(given) == [str(tmp_path / "a.md"), str(tmp_path / "*.md"), str(tmp_path)]


def test_an_unknown_brain_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(BadInput, match="no brain is named 'oracle'; known here: extractive"):
        resolve("oracle")


def test_the_brain_of_the_house_says_honestly_what_it_is() -> None:
    assert "No model chose, wrote or checked anything" in resolve("extractive").label
