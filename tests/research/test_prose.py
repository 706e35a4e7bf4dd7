"""Text and Markdown are cut into paragraphs that know their headings."""

from tests.research.helpers import cut

LONG = "Sentence number one is here. " * 40


def contexts(text: str, media: str = "text/markdown") -> list[str]:
    return [passage.context for passage in cut(text.encode(), media)]


def test_a_section_ends_where_a_heading_of_its_level_begins() -> None:
    text = "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour\n"
    assert contexts(text) == ["A", "A > B", "A > B > C", "A > D"]


def test_underlined_headings_are_headings() -> None:
    text = "Top\n===\n\none\n\nSub\n---\n\ntwo\n\n=====\nOver\n=====\n\nthree\n"
    assert contexts(text, "text/plain") == ["Top", "Top > Sub", "Top > Sub > Over"]


def test_a_heading_is_quoted_with_what_it_is_the_heading_of() -> None:
    [passage] = cut(b"# A\n\ntext\n", "text/markdown")
    assert passage.text == "# A\n\ntext"


def test_short_paragraphs_of_one_section_are_joined() -> None:
    [passage] = cut(b"one\n\ntwo\n\nthree\n")
    assert passage.text == "one\n\ntwo\n\nthree"


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    found = cut((LONG * 3).encode())
    assert len(found) > 2
    assert all(passage.text.endswith("here.") for passage in found)


def test_a_hash_in_a_code_fence_is_no_heading() -> None:
    text = "# A\n\n```sh\n# comment\n\nls\n```\n\nafter\n"
    assert contexts(text) == ["A"]


def test_a_fence_that_never_ends_loses_nothing() -> None:
    [passage] = cut(b"```\ncode\n\n# more\n", "text/markdown")
    assert passage.text == "```\ncode\n\n# more"


def test_text_without_spaces_is_cut_too() -> None:
    found = cut(("漢字" * 2000).encode())
    assert "".join(passage.text for passage in found) == "漢字" * 2000


def test_an_empty_file_has_no_passage() -> None:
    assert cut(b"") == []
    assert cut(b" \n\t\r\n") == []
