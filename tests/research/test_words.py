"""What a question looks for, and what counts as the same word."""

import pytest

from keptstep.workers.research.related import related
from keptstep.workers.research.stemming import stem
from keptstep.workers.research.words import split, terms


def stems_of(question: str) -> list[str]:
    return [term.stem for term in terms(question)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_retries", ["max", "retries"]),
        ("maxRetries", ["max", "retries"]),
        ("HTTPServer2", ["http", "server2"]),
        ("NaN", ["nan"]),
        ("don't", ["don", "t"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("e\u0301te\u0301", ["\u00e9t\u00e9"]),
        ("국민은", ["국민", "민은"]),
        ("漢", ["漢"]),
        ("dramatiq는 v2", ["dramatiq", "는", "v2"]),
        ("x" * 65, []),
    ],
)
def test_a_text_comes_apart_into_words(text: str, words: list[str]) -> None:
    assert list(split(text)) == words


@pytest.mark.parametrize(
    ("words", "common"),
    [
        ("retry retries retried retrying", "retri"),
        ("limit limits limited limiter limiting", "limit"),
        ("encode encoded encoder encoding encodes", "encod"),
        ("configure configured configuration", "configur"),
        ("concurrent concurrently", "concurr"),
        ("hop hopping hopped", "hop"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(words: str, common: str) -> None:
    assert {stem(word) for word in words.split()} == {common}


@pytest.mark.parametrize(
    "pair",
    ["ponies poni", "caress caress", "agreed agre", "plastered plaster", "sized size",
     "falling fall", "filing file", "sky sky", "relational relat", "hopefulness hope",
     "electriciti electr", "adoption adopt", "effective effect", "controll control"],
)  # fmt: skip
def test_stems_are_those_of_the_published_algorithm(pair: str) -> None:
    word, expected = pair.split()
    assert stem(word) == expected


def test_the_words_a_question_is_asked_with_are_not_looked_for() -> None:
    assert stems_of("How does it decide how long to wait?") == ["long", "wait"]
    assert stems_of("체크포인트는 무엇인가요?") == stems_of("체크포인트는")


def test_a_question_of_nothing_else_is_looked_for_as_it_stands() -> None:
    assert stems_of("What is it?") == ["what", "is", "it"]


def test_a_word_asked_for_twice_is_looked_for_once() -> None:
    assert stems_of("retry, retries and Retrying") == ["retri"]


def test_what_a_search_engine_would_read_as_syntax_is_only_text() -> None:
    assert stems_of('"retry" AND (NEAR* OR col:x) -- ; DROP TABLE') == [
        "retri", "near", "col", "x", "drop", "tabl",
    ]  # fmt: skip


def test_related_words_do_not_repeat_the_question() -> None:
    found = related([stem("wait"), stem("delay")])
    assert "backoff" in found.values()
    assert stem("delay") not in found
