"""A passage's bytes, decoded by themselves, are its text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keptstep.workers.research.decoding import Decoded, Encoding, detect
from keptstep.workers.research.passages import as_read, passages
from tests.research.helpers import cut

MEDIA = st.sampled_from(["text/plain", "text/markdown", "text/html", "text/x-source"])
CODECS = st.sampled_from(
    ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "cp949", "shift_jis", "euc_jp", "gb18030",
     "big5", "cp1252", "koi8_r"]
)  # fmt: skip
PIECES = st.sampled_from(
    [
        *("word ", "Größe ", "국민은 ", "名前。", "😀", "e\u0301", "\ufeff", "\x00"),
        *("x" * 700, "漢" * 700, "\n", "\r\n", "\r", "\n\n", "  ", "\t", "# Heading\n"),
        *("====\n", "```\n", "def f(x):\n", "class A:\n", "    return 1\n", "@decorated\n"),
        *("<p>", "</p>", "<br>", "<b>", "</b>", "<pre>", "</pre>", "<td>", "<dt>", "</dl>"),
        *("<h2>", "</h2>", "<title>", "</title>", "<!-- x -->", "<script>if (a < b) {}</script>"),
        *("&amp;", "&#x41;", "&lt", "<a href='x>y'>", "<", ">", "a<b", "# comment\n"),
    ]
)


def stands(data: bytes, media: str, encoding: Encoding) -> None:
    for passage in passages(Decoded(data, encoding), media):
        piece = data[passage.start : passage.end]
        assert as_read(piece, encoding, passage.form) == passage.text
        assert passage.text.strip()


@given(st.lists(PIECES, max_size=60), CODECS, MEDIA)
def test_every_passage_is_what_its_bytes_say(pieces: list[str], codec: str, media: str) -> None:
    data = "".join(pieces).encode(codec, "ignore")
    stands(data, media, Encoding(codec))
    stands(data, media, detect(data))


@given(st.binary(max_size=400), CODECS, MEDIA)
def test_bytes_that_are_no_text_have_exact_ranges_too(data: bytes, codec: str, media: str) -> None:
    stands(data, media, Encoding(codec))


def agree(data: bytes, codec: str) -> None:
    source = Decoded(data, Encoding(codec))
    for start in range(0, len(source.text), len(source.text) // 50 + 1):
        end = min(start + 1 + start % 5, len(source.text))
        assert source.piece(source.byte_at(start), source.byte_at(end)) == source.text[start:end]


def mixed(texts: list[str], damage: list[bytes], codec: str) -> bytes:
    """Put damage between pieces of text."""
    encoded = [text.encode(codec, "ignore") for text in texts]
    return b"".join(part for pair in zip(encoded, damage, strict=False) for part in pair)


#: Encodings whose decoders see damage the same from wherever they begin.
STEADY = st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "cp1252", "koi8_r"])


@given(st.lists(PIECES, max_size=60), CODECS)
def test_characters_and_bytes_agree(texts: list[str], codec: str) -> None:
    agree("".join(texts).encode(codec, "ignore"), codec)


@example(["", "word"], [b"\x3d\xd8", b""], "utf-16-le")  # half a pair, then a letter
@given(st.lists(PIECES, max_size=30), st.lists(st.binary(max_size=3), max_size=30), STEADY)
def test_characters_and_bytes_agree_even_where_the_file_is_damaged(
    texts: list[str], damage: list[bytes], codec: str
) -> None:
    agree(mixed(texts, damage, codec), codec)


@given(st.lists(PIECES, max_size=60), MEDIA)
def test_passages_come_in_order_and_never_overlap(pieces: list[str], media: str) -> None:
    found = cut("".join(pieces).encode(), media)
    ends = [0, *(passage.end for passage in found)]
    assert all(before <= passage.start for before, passage in zip(ends, found, strict=False))


def test_no_word_of_a_plain_text_is_lost_between_passages() -> None:
    text = "\n\n".join(f"Paragraph {number} " + "word " * (number % 400) for number in range(200))
    joined = " ".join(passage.text for passage in cut(text.encode()))
    assert joined.split() == text.split()


def test_a_bom_is_in_no_passage_but_counts_as_bytes() -> None:
    [passage] = cut("\ufeffGröße\n".encode())
    assert (passage.start, passage.end, passage.text) == (3, 10, "Größe")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    text = end.join(["one", "two", "", "three", "four"])
    first, second = cut(("# A" + end + end + text + end + "# B" + end + "last").encode())
    assert (first.first_line, first.last_line) == (1, 7)
    assert (second.first_line, second.last_line) == (8, 9)
