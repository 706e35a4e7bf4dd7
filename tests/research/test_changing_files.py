"""Files that vanish or change between the steps never make a report say what is not so."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from keptstep.models.errors import Permanent
from keptstep.workers.research import find, read
from keptstep.workers.research.opening import read_file
from keptstep.workers.research.records import Failure, Found, Note
from tests.research.helpers import extracts_of, noted, written

QUESTION = "Where does the otter sleep?"


def text_of(question: str, found: Found, taken: list[Note], failures: list[Failure]) -> str:
    data = written(question, found, taken, failures).data
    assert isinstance(data, bytes)
    return data.decode()


@pytest.fixture
def den(tmp_path: Path) -> Path:
    (tmp_path / "otter.txt").write_text("The otter sleeps in a holt by the river.\n")
    (tmp_path / "other.txt").write_text("An otter may also sleep on its back at sea.\n")
    return tmp_path


def test_a_file_that_is_gone_when_it_is_to_be_read_fails_its_own_step(den: Path) -> None:
    found = find([str(den)])
    (den / "other.txt").unlink()
    with pytest.raises(Permanent, match=r"/other\.txt is not there"):
        read(found, 0)


def test_a_failed_source_is_in_the_report_and_the_others_are_quoted(den: Path) -> None:
    found, taken, _ = noted(QUESTION, den)
    failures = [Failure(0, f"{den}/other.txt is not there")]
    text = text_of(QUESTION, found, taken[1:], failures)
    assert "The otter sleeps in a holt" in text
    assert f"- `{den}/other.txt`: not there" in text


def test_a_quotation_from_a_file_that_is_gone_is_left_out_and_said_so(den: Path) -> None:
    found, taken, failures = noted(QUESTION, den)
    (den / "otter.txt").unlink()
    text = text_of(QUESTION, found, taken, failures)
    assert "holt by the river" not in text
    assert len(extracts_of(text)) == 1
    assert f"- `{den}/otter.txt`, line 1, bytes 0 to 40: the file is not there" in text


def test_a_quotation_whose_words_changed_is_left_out_and_said_so(den: Path) -> None:
    found, taken, failures = noted(QUESTION, den)
    (den / "otter.txt").write_text("The otter never sleeps, says this file now.\n")
    text = text_of(QUESTION, found, taken, failures)
    assert "holt" not in text
    assert "never sleeps" not in text
    assert "the file has changed since it was read: these words no longer stand there" in text


def test_a_quotation_that_still_stands_in_a_changed_file_stays_with_a_word_on_it(
    den: Path,
) -> None:
    found, taken, failures = noted(QUESTION, den)
    with (den / "otter.txt").open("a") as file:
        file.write("\nA later line.\n")
    text = text_of(QUESTION, found, taken, failures)
    assert "holt by the river" in text
    assert "| utf-8; changed since |" in text


def test_if_no_quotation_stands_the_report_says_that(den: Path) -> None:
    found, taken, failures = noted(QUESTION, den)
    for path in den.iterdir():
        path.unlink()
    text = text_of(QUESTION, found, taken, failures)
    assert "## Nothing to quote\n\nNo passage that fits the question still stands" in text
    assert extracts_of(text) == []


def test_a_file_replaced_by_a_pipe_is_not_waited_for(den: Path) -> None:
    found, taken, failures = noted(QUESTION, den)
    (den / "otter.txt").unlink()
    os.mkfifo(den / "otter.txt")
    with pytest.raises(Permanent, match="is a named pipe, not a file"):
        read(found, 1)
    assert "the file is a named pipe, not a file" in text_of(QUESTION, found, taken, failures)


def test_a_file_that_grows_over_the_limit_fails_with_its_size(den: Path) -> None:
    found = find([str(den)])
    with (den / "other.txt").open("ab") as file:
        file.truncate(30_000_000)
    with pytest.raises(Permanent, match="is 30 MB, over the limit of 20 MB"):
        read(found, 0)


def test_a_file_written_to_while_it_is_read_is_marked(
    den: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.read

    def writing(handle: int, count: int) -> bytes:
        data = real(handle, count)
        if data:
            (den / "otter.txt").write_text("Something longer than it was before, much longer.\n")
        return data

    monkeypatch.setattr(os, "read", writing)
    page = read(find([str(den / "otter.txt")]), 0)
    assert page.source.changing


def test_a_passing_fault_of_the_disk_is_worth_another_attempt(
    den: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find([str(den)])

    def broken(path: str, *rest: int) -> int:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(os, "open", broken)
    with pytest.raises(OSError, match=r"other\.txt cannot be read \(Input/output error\)"):
        read(found, 0)


def test_a_quotation_that_never_stood_there_is_not_blamed_on_the_file(den: Path) -> None:
    """So may a brain that writes its quotations itself."""
    found, [note, other], failures = noted(QUESTION, den)
    invented = replace(note.quotes[0], text="An otter sleeps in a bed.")
    text = text_of(QUESTION, found, [replace(note, quotes=[invented]), other], failures)
    assert "sleeps in a bed" not in text
    assert "bytes 0 to 43: these words do not stand there" in text


def test_no_more_than_the_limit_is_read_of_a_file_that_grows(
    den: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.read
    counts: list[int] = []

    def endless(handle: int, count: int) -> bytes:
        counts.append(count)
        return real(handle, 0) + b"x" * count

    monkeypatch.setattr(os, "read", endless)
    with pytest.raises(Permanent, match="grew over the limit of 3 MB"):
        read_file(str(den / "otter.txt"), 3_000_000)
    assert sum(counts) == 3_000_001
