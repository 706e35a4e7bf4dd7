"""What stands in a report, and that every citation leads to the words it cites."""

import hashlib
import re
from pathlib import Path

import pytest

from keptstep.models.artifacts import MARKDOWN_TYPE
from keptstep.models.errors import Permanent
from keptstep.workers.research.html import extract
from keptstep.workers.research.records import Failure, Note
from keptstep.workers.research.tools import report
from tests.research.helpers import Kept, extracts_of, noted, researched, written

QUESTION = "How long does a heron wait?"


@pytest.fixture
def pond(tmp_path: Path) -> Path:
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "heron.md").write_text(
        "# Birds\n\n## Heron\n\nA heron waits for minutes.\n\n## Pigeon\n\nA pigeon does not.\n"
    )
    (tmp_path / "page.html").write_text(
        "<h1>Heron</h1>\n<p>The <b>heron</b> waits &amp; waits.</p>"
    )
    (tmp_path / "heron.py").write_text("def wait(heron):\n    return heron.minutes\n")
    (tmp_path / "pears.txt").write_text("Pears are fruit.\n")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (tmp_path / ".hidden").write_text("A heron waits here, hidden.")
    return tmp_path


def test_a_report_begins_with_the_question_and_says_what_it_is(pond: Path) -> None:
    lines = researched(QUESTION, pond).splitlines()
    assert lines[0] == f"# {QUESTION}"
    assert lines[2].startswith("> Extracts, not an answer: a program ranked")
    assert lines[4].startswith("3 extracts from 3 sources; 4 sources read, 1 not read. Words look")


def test_every_citation_leads_to_its_words(pond: Path) -> None:
    text = researched(QUESTION, pond)
    roots = re.search(r"All sources are below `(.*)`\.", text)
    assert roots is not None
    for extract_ in extracts_of(text):
        name = re.search(r"^\d+\. `(.+)`$", extract_, re.MULTILINE)
        cited = re.search(r"^\[\d\] lines? (\d+).*, bytes (\d+) to (\d+)", extract_, re.MULTILINE)
        block = re.search(r"```text\n(.*)\n```", extract_, re.DOTALL)
        assert name is not None
        assert cited is not None
        assert block is not None
        path = Path(roots.group(1)) / name.group(1)
        line, start, end = map(int, cited.groups())
        there = path.read_bytes()[start:end].decode()
        said = extract(there) if path.suffix == ".html" else there
        assert said == block.group(1)
        assert path.read_bytes()[:start].count(b"\n") + 1 == line


def test_an_extract_says_what_it_stands_under(pond: Path) -> None:
    (pond / "long.md").write_text("# Waiting\n\n## Herons\n\n" + "A heron waits. " * 120)
    assert "under `Waiting > Herons`" in researched(QUESTION, pond)


def test_the_sources_are_listed_with_their_hash_and_what_became_of_them(pond: Path) -> None:
    text = researched(QUESTION, pond)
    table = text.partition("## Sources")[2].partition("### Not read")[0]
    assert table.count("\n| [") == 3
    for name in ("books/heron.md", "page.html", "heron.py", "pears.txt"):
        sha = hashlib.sha256((pond / name).read_bytes()).hexdigest()
        [row] = [line for line in table.splitlines() if f"`{name}`" in line]
        assert f"`{sha}`" in row
        assert f"| {(pond / name).stat().st_size} |" in row
    assert "|  | `pears.txt` |  | utf-8 |" in table


def test_what_was_not_read_is_listed_with_the_reason(pond: Path) -> None:
    text = researched(QUESTION, pond)
    assert f"### Not read\n\n- `{pond}/photo.png`: an image, not plain text\n" in text
    assert text.endswith("\nNot looked into: 1 hidden file or folder of caches.\n")


def test_long_lists_of_what_was_not_read_are_counted(pond: Path) -> None:
    for number in range(30):
        (pond / f"empty{number:02}").write_bytes(b"")
    text = researched(QUESTION, pond)
    assert "empty19` and 10 more: empty" in text
    assert "empty20" not in text


def test_a_report_has_at_most_the_extracts_asked_for(pond: Path) -> None:
    assert len(extracts_of(researched(QUESTION, pond, extracts=2))) == 2


def test_a_report_names_the_notes_it_rests_on(pond: Path) -> None:
    found, taken, failures = noted(QUESTION, pond)
    kept = Kept()
    results = [kept.result(note, Note) for note in taken]
    payload = report(QUESTION, found, results, failures)
    assert payload.media_type == MARKDOWN_TYPE
    assert payload.sources == tuple(result.ref for result in results)


def test_without_one_readable_source_there_is_no_report(pond: Path) -> None:
    found, _, _ = noted(QUESTION, pond / "page.html")
    reason = f"{pond}/page.html is not there"
    with pytest.raises(Permanent, match=f"^no readable text in: {pond}/page.html \\({reason}\\)$"):
        written(QUESTION, found, [], [Failure(0, reason)])


def test_a_note_is_small_however_large_its_source_is(tmp_path: Path) -> None:
    source = tmp_path / "large.txt"
    source.write_text("\n\n".join(f"# {n}\n\nA heron waits {n} minutes." for n in range(20_000)))
    [note] = noted(QUESTION, source)[1]
    assert note.source.passages == 20_000
    assert len(note.quotes) < 40
