"""What others wrote can neither move the cursor nor turn a line round."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keptstep.ops.inert import inert_line, inert_text

JOINERS = {"\u200c", "\u200d", "\u00ad"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("rm \u202etxt.exe", "rm \\u202etxt.exe"),
        ("a\u2066b\u2069c\u200fd", "a\\u2066b\\u2069c\\u200fd"),
        ("over\rwritten", "over\\rwritten"),
        ("back\x08space", "back\\x08space"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("half\udc80", "half\\udc80"),
        ("line\u2028end", "line\\u2028end"),
    ],
)
def test_what_harms_is_spelled_out(text: str, shown: str) -> None:
    assert inert_line(text) == shown
    assert inert_text(text) == shown


PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
SCIENTIST = "\U0001f469\u200d\U0001f52c"


@pytest.mark.parametrize("text", ["Grüße", "日本語", "नमस्ते", PERSIAN, SCIENTIST])
def test_writing_stays_as_it_is(text: str) -> None:
    assert inert_line(text) == text
    assert inert_text(text) == text


def test_a_line_has_no_line_breaks_and_a_text_keeps_them() -> None:
    assert inert_line("a\tb\nc") == "a\\tb\\nc"
    assert inert_text("a\tb\r\nc\n") == "a\tb\nc\n"


@given(st.text(alphabet=st.characters(codec=None)))
def test_no_control_is_left_whatever_the_text(text: str) -> None:
    categories = {unicodedata.category(each) for each in set(inert_line(text)) - JOINERS}
    assert categories & {"Cc", "Cs", "Zl", "Zp"} == set()
    bidirectional = {unicodedata.bidirectional(each) for each in inert_line(text)}
    assert bidirectional & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"} == set()
