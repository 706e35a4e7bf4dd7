"""Files in any encoding are read as what they say."""
# ruff: noqa: RUF001 - the letters of other alphabets are meant

import codecs
from pathlib import Path

import pytest

from keptstep.workers.research.decoding import Decoded, Encoding, detect
from tests.research.helpers import cut, researched

KOREAN = "대한민국의 모든 국민은 법 앞에 평등하다. 누구든지 차별을 받지 아니한다.\n"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n"
CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。\n"
FRENCH = "L'élève a été reçu à l'école où il préfère étudier; ça coûte très peu.\n"
GERMAN = "Die Größe der Übertragung hängt von äußeren Einflüssen ab.\n"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (FRENCH, "utf-8"),
        (FRENCH, "utf-8-sig"),
        (FRENCH, "utf-16"),
        (FRENCH, "utf-16-le"),
        (FRENCH, "utf-16-be"),
        (FRENCH, "utf-32"),
        (FRENCH, "latin-1"),
        (GERMAN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (KOREAN, "cp949"),
        (KOREAN, "utf-16-le"),
        (KOREAN, "utf-16-be"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gb18030"),
    ],
)
def test_a_text_is_read_whatever_it_is_encoded_in(text: str, codec: str) -> None:
    whole = text * 6
    data = whole.encode(codec)
    assert Decoded(data, detect(data)).text == whole


@pytest.mark.parametrize("codec", ["cp949", "shift_jis", "utf-16"])
def test_a_question_finds_its_words_in_a_legacy_encoding(tmp_path: Path, codec: str) -> None:
    source = tmp_path / "law.txt"
    text = KOREAN if codec == "cp949" else JAPANESE
    source.write_bytes((text * 3).encode(codec))
    word = "국민은 평등하다" if codec == "cp949" else "名前"
    assert text.strip() in researched(f"{word}?", source)


def test_a_file_says_its_own_encoding_where_statistics_cannot_tell() -> None:
    page = "<meta charset='iso-8859-2'><p>Żółć</p>".encode("iso-8859-2")
    assert Decoded(page, detect(page)).text.endswith("<p>Żółć</p>")


def test_a_declared_encoding_that_the_bytes_contradict_is_not_believed() -> None:
    page = b"<?xml encoding='utf-8'?>" + FRENCH.encode("cp1252") * 3
    assert FRENCH in Decoded(page, detect(page)).text


def test_damaged_utf8_stays_utf8_and_shows_where_it_is_damaged() -> None:
    data = FRENCH.encode() + b"\xff\xfe broken \xe2\x82\n" + FRENCH.encode()
    decoded = Decoded(data, detect(data))
    assert decoded.encoding == Encoding("utf-8")
    assert decoded.text.count("\ufffd") == 3
    assert decoded.text.endswith(FRENCH)


def test_a_stray_zero_byte_does_not_make_a_text_utf16() -> None:
    data = b"one line\nabc\0def\nanother line\n"
    assert detect(data) == Encoding("utf-8")


@pytest.mark.parametrize("bom", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE])
def test_a_file_of_nothing_but_a_bom_holds_no_text(bom: bytes) -> None:
    assert Decoded(bom, detect(bom)).text == ""
    assert cut(bom) == []


def test_an_encoding_with_shifts_is_quoted_by_whole_lines() -> None:
    line = JAPANESE.strip() * 100
    data = f"{line}\n{JAPANESE}".encode("iso2022_jp")
    found = cut(data)
    encoding = detect(data)
    assert all(encoding.decode(data[p.start : p.end]) == p.text for p in found)
    assert line in found[0].text


def test_utf16_without_a_bom_is_not_taken_for_binary(tmp_path: Path) -> None:
    source = tmp_path / "notes.txt"
    source.write_bytes((FRENCH * 3).encode("utf-16-be"))
    assert FRENCH.strip() in researched("Où préfère-t-il étudier?", source)
