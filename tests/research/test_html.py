"""HTML is read as a reader of the page sees it, from exact places in the file."""

import pytest

from keptstep.workers.research.html import extract, html_blocks
from tests.research.helpers import cut


def texts(page: str) -> list[str]:
    return [passage.text for passage in cut(page.encode(), "text/html")]


def test_scripts_styles_and_comments_are_not_text() -> None:
    page = (
        "<head><style>p { color: red }</style><script>var a = '<p>not me</p>';</script></head>"
        "<p>seen<!-- <p>hidden</p> --> text</p><template><p>later</p></template>"
    )
    assert texts(page) == ["seen text"]


def test_inline_tags_leave_no_trace_and_blocks_end_a_line() -> None:
    assert extract("<p>one <b>two</b><br>three</p><div>four</div>") == "one two\nthree\nfour"


def test_white_space_is_folded_except_in_pre() -> None:
    page = "<p>a  \n  b</p><pre>\n  x =  1\n    y\n</pre><p>c</p>"
    assert extract(page) == "a b\n\n  x =  1\n    y\n\nc"


def test_characters_are_read_from_references() -> None:
    assert extract("<p>a &lt;b&gt; &amp; &#x41;&eacute;</p>") == "a <b> & A\u00e9"


def test_cells_of_a_row_stay_apart() -> None:
    assert extract("<table><tr><th>name<td>value</tr></table>") == "name | value"


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<p title='a > b'>text</p>", "text"),
        ('<p title="<p>">text</p>', "text"),
        ("<p don't>text</p>", "text"),
        ("1 < 2 and 3 <4", "1 < 2 and 3 <4"),
        ("<SCRIPT>x</Script ><p>text", "text"),
        ("text<p class=", "text"),
        ("text<!-- no end", "text"),
        ("text<script>no end <p>", "text"),
        ("<!DOCTYPE html><?php echo ?>text", "text"),
    ],
)
def test_odd_markup_is_read_as_browsers_read_it(page: str, seen: str) -> None:
    assert extract(page) == seen


def test_a_passage_stands_under_the_title_and_its_headings() -> None:
    page = "<title>Manual</title><h1>Tools</h1><h2>Saw</h2><p>cuts</p><h2>Plane</h2><p>smooths</p>"
    contexts = [passage.context for passage in cut(page.encode(), "text/html")]
    assert contexts == ["Manual > Tools > Saw", "Manual > Tools > Plane"]


def test_a_term_and_its_definition_are_one_passage() -> None:
    page = "<dl><dt>saw<dd>cuts wood<dt>plane<dd>smooths it</dl><p>after</p>"
    assert texts(page) == ["saw\ncuts wood", "plane\nsmooths it", "after"]


def test_a_quotation_from_pre_keeps_its_lines_wherever_it_is_cut() -> None:
    code = "\n".join(f"    line {number}" for number in range(400))
    found = cut(f"<p>before</p><pre>{code}</pre>".encode(), "text/html")
    assert len(found) > 3
    assert "".join(passage.text + "\n" for passage in found).endswith(code + "\n")
    assert all("\n    line" in passage.text for passage in found[1:])


@pytest.mark.parametrize("shift", range(6))
def test_a_cut_never_splits_a_character_reference(shift: int) -> None:
    text = "x" * shift + "漢&" * 3000
    found = texts("<p>" + text.replace("&", "&amp;") + "</p>")
    assert len(found) > 1
    assert "".join(found) == text


def test_a_long_block_with_inline_tags_is_cut_between_them() -> None:
    page = "<p>" + "word <b>bold</b> " * 2000 + "</p>"
    found = texts(page)
    assert len(found) > 1
    assert " ".join(found) == ("word bold " * 2000).strip()


UNITS = ["<", "<a ", "<!--", "<!", "<?", "</", '<a b="', "<a b=", "&", "<script>", "<b>", "<td>x"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("end", ["", ">", '">"', "-->"])
def test_a_hostile_page_takes_time_in_proportion_to_its_size(unit: str, end: str) -> None:
    """The page is so large that quadratic time would run into the time limit of the tests."""
    page = unit * (200_000 // len(unit)) + end
    html_blocks(page)
    extract(page)
