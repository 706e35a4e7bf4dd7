"""Nearly the same words are quoted once, and the other places are named."""

import re
from pathlib import Path

import pytest

from keptstep.workers.research.likeness import alike, fingerprint
from tests.research.helpers import extracts_of, researched

TEXT = "The heron waits without moving until a frog comes near, then strikes with its bill. "


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (TEXT, TEXT, True),
        (TEXT, TEXT.upper().replace(",", ";"), True),
        (TEXT, f"{TEXT} And a little more.", True),
        (TEXT, TEXT.replace("frog", "fish"), False),
        (TEXT * 3, (TEXT * 3).replace("frog", "fish", 1), True),
        (TEXT, "The heron builds its nest in high trees, often with others of its kind.", False),
        ("heron", "heron", True),
        ("heron", "frog", False),
    ],
)
def test_likeness_is_told_by_runs_of_words(one: str, other: str, same: bool) -> None:
    assert alike(fingerprint(one), fingerprint(other)) is same
    assert alike(fingerprint(other), fingerprint(one)) is same


def test_copies_are_quoted_once_and_cited_together(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text(f"# Copy {name}\n\n{TEXT * 2}\n")
    (tmp_path / "page.html").write_text(f"<h1>Copy</h1><p>{TEXT * 2}</p>")
    text = researched("What does the heron wait for?", tmp_path)
    [extract] = extracts_of(text)
    assert extract.count("strikes with its bill") == 2
    assert re.search(r"Nearly the same: \[2\] .*; \[3\] .*; \[4\] .*", extract)
    assert all(f"| [{number}] |" in text for number in (1, 2, 3, 4))


def test_copies_do_not_take_the_places_of_other_extracts(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"copy{number:02}.txt").write_text(TEXT)
    (tmp_path / "other.txt").write_text("A heron may also wait for mice in a dry field, at dusk.")
    assert len(extracts_of(researched("heron wait", tmp_path, extracts=2))) == 2
