"""What sources say stays inert: it can end no quotation, steer no terminal and start no link."""

import re
from pathlib import Path

import pytest

from keptstep.workers.research.showing import code, escaped, fenced, folded, name_of, visible
from tests.research.helpers import researched

QUESTION = "What does the otter eat?"


def quoted_block(text: str) -> str:
    """Return what a reader of Markdown sees between the first fence and its end."""
    match = re.search(r"^(`{3,})text\n(.*?)\n\1$", text, re.DOTALL | re.MULTILINE)
    assert match is not None
    return match.group(2)


@pytest.mark.parametrize(
    "attack",
    [
        "```\n# Heading of mine\n```",
        "````````\n<script>alert(1)</script>\n````````",
        "~~~\n[link](javascript:x)\n~~~",
        "</pre></code><img src=x onerror=y>",
        "![x](http://evil.example/pixel.png)",
    ],
)
def test_a_quotation_cannot_end_its_own_block(tmp_path: Path, attack: str) -> None:
    source = tmp_path / "otter.txt"
    source.write_text(f"The otter eats fish.\n{attack}\nand the otter eats crabs.")
    text = researched(QUESTION, source)
    assert quoted_block(text) == f"The otter eats fish.\n{attack}\nand the otter eats crabs."
    outside = text.replace(quoted_block(text), "")
    assert not re.search(r"^# Heading of mine|<script|<img|\]\(", outside, re.MULTILINE)


def test_terminal_escapes_and_turned_writing_are_written_out(tmp_path: Path) -> None:
    source = tmp_path / "otter.txt"
    source.write_text(
        "The otter eats \x1b[2J\x1b]0;owned\x07 fish \u202ehsif\u202c \u200b\x9b31m\x00."
    )
    text = researched(QUESTION, source)
    assert quoted_block(text) == (
        r"The otter eats \x1b[2J\x1b]0;owned\x07 fish \u202ehsif\u202c \u200b\x9b31m\x00."
    )
    assert r"Characters that cannot be seen are written out, as in `\x1b` or `\u202e`." in text


def test_a_report_without_unseen_characters_does_not_speak_of_them(tmp_path: Path) -> None:
    source = tmp_path / "otter.txt"
    source.write_text("The otter eats fish.\r\nAnd crabs.\r\n")
    assert "cannot be seen" not in researched(QUESTION, source)


def test_tags_of_a_page_do_not_reach_the_report(tmp_path: Path) -> None:
    source = tmp_path / "otter.html"
    source.write_text(
        "<title>`x` | <b></title><p>The otter eats <img src=x onerror=alert(1)>fish"
        "<script>otter()</script> &lt;script&gt;alert(2)&lt;/script&gt;.</p>"
    )
    text = researched(QUESTION, source)
    assert quoted_block(text) == "The otter eats fish <script>alert(2)</script>."
    assert "onerror" not in text


def test_a_name_cannot_end_the_cell_or_the_span_it_stands_in(tmp_path: Path) -> None:
    source = tmp_path / "a`|b``c\n# d\x1b[0m.txt"
    source.write_text("The otter eats fish.")
    text = researched(QUESTION, source)
    shown = r"a`\|b``c\n# d\x1b[0m.txt"
    assert f"### 1. ```{shown}```" in text
    row = next(line for line in text.splitlines() if line.startswith("| [1] |"))
    assert len(re.split(r"(?<!\\)\|", row)) == 8


def test_the_question_is_shown_as_it_was_asked_and_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The otter eats fish.")
    text = researched("What do <b>otters</b> [eat](http://x.example)\x1b[0m?", tmp_path)
    first = text.splitlines()[0]
    assert first == (
        r"# What do \<b\>otters\</b\> \[eat\](http\://x.example)\x1b\[0m?".replace(
            r"\x1b", r"\\x1b"
        )
    )


def test_a_long_question_is_cut_in_the_heading_and_whole_below_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The otter eats fish.")
    question = "What does the otter eat? " + "It is a long story. " * 30
    text = researched(question, tmp_path)
    assert len(text.splitlines()[0]) <= 202
    assert quoted_block(text) == question.strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("\x7f\x85\u2028\ufeff\u2066", r"\x7f\x85\u2028\ufeff\u2066"),
        ("\U000e0041", r"\U000e0041"),
        ("\udc80", r"\udc80"),
        ("👩\u200d👧 नम\u200dस्ते é 漢字", "👩\u200d👧 नम\u200dस्ते é 漢字"),
    ],
)
def test_only_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_names_with_line_ends_stay_one_line() -> None:
    assert name_of("a\nb\r\tc") == r"a\nb\r\tc"


@pytest.mark.parametrize("text", ["", "`", "``", " a ", "a`b", "```a", "|", "a\nb"])
def test_a_code_span_is_one_line_with_marks_that_its_text_lacks(text: str) -> None:
    span = code(text)
    marks = re.match("`+", span)
    assert marks is not None
    inside = span[len(marks.group()) : -len(marks.group())]
    assert span.endswith(marks.group())
    assert marks.group() not in re.findall("`+", inside)
    assert "\n" not in span


@pytest.mark.parametrize("run", [1, 2, 3, 4, 50])
def test_a_fence_is_longer_than_any_in_its_text(run: int) -> None:
    block = fenced("`" * run)
    assert block.splitlines()[0] == "`" * max(run + 1, 3) + "text"


def test_escaped_text_has_no_mark_up_left() -> None:
    assert escaped("*a* _b_ <c> [d] www.e.f a@b.c") == (r"\*a\* \_b\_ \<c\> \[d\] www\.e.f a\@b.c")


def test_folded_text_is_cut_visibly() -> None:
    assert folded("a  b\nc" * 100, 10) == "a b ca b …"
