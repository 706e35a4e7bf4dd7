"""The passages that answer a question come first."""

from importlib.resources import files
from pathlib import Path

import pytest

from keptstep.workers.research import check_sources
from keptstep.workers.research.ranking import Query, count, named, score, total
from keptstep.workers.research.words import terms
from keptstep.workflows.brains import Passage
from tests.research.helpers import extracts_of, researched

DRAMATIQ = str(files("dramatiq"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "How does dramatiq decide how long to wait before it retries a message?",
            "compute_backoff(retries, factor=min_backoff, max_backoff=max_backoff)",
        ),
        ("What happens to a message when its retries are exceeded?", "on_retry_exhausted"),
        ("For how long are dead letters kept in Redis?", "dead_message_ttl"),
        ("How does the time limit interrupt an actor?", "Middleware that cancels actors that run"),
        ("When is a message skipped because it is too old?", "max_age"),
        ("How can I run a callback when a group is completed?", "add_completion_callback"),
    ],
)
def test_the_answer_is_among_the_first_three_extracts(question: str, answer: str) -> None:
    extracts = extracts_of(researched(question, *check_sources([DRAMATIQ])))
    assert any(answer in extract for extract in extracts[:3])


def folder(root: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (root / f"{name}.txt").write_text(text)
    return root


def first_of(text: str) -> str:
    return extracts_of(text)[0].splitlines()[0]


def test_a_word_that_is_rare_over_all_sources_weighs_more(tmp_path: Path) -> None:
    """In its own file the rare word is in every passage; only all files together tell."""
    common = "\n\n".join(
        f"# Part {n}\n\nThe message is sent and message {n} is here" for n in range(30)
    )
    rare = "\n\n".join(f"# Part {n}\n\nThe heron stands in reed {n}" for n in range(3))
    folder(tmp_path, common=common, rare=rare)
    assert "`rare.txt`" in first_of(researched("heron message", tmp_path))


def test_scores_do_not_depend_on_how_passages_are_spread_over_files(tmp_path: Path) -> None:
    texts = [f"The heron number {n} waits by the pond for {n} frogs.\n" for n in range(6)]
    (tmp_path / "many").mkdir()
    (tmp_path / "one").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "many" / f"{number}.txt").write_text(text)
    (tmp_path / "one" / "all.txt").write_text(
        "\n".join(f"# {n}\n\n{t}" for n, t in enumerate(texts))
    )
    question = "How many frogs does heron 4 wait for?"
    assert "number 4 waits" in extracts_of(researched(question, tmp_path / "many"))[0]
    assert "number 4 waits" in extracts_of(researched(question, tmp_path / "one"))[0]


def test_a_passage_that_touches_the_whole_question_beats_one_that_repeats_a_word(
    tmp_path: Path,
) -> None:
    folder(
        tmp_path,
        repeats="heron " * 30,
        touches="The heron eats frogs in the evening.",
        other="Something about evening and frogs elsewhere. " * 3,
    )
    assert "`touches.txt`" in first_of(researched("When does the heron eat frogs?", tmp_path))


def test_related_words_find_what_the_question_calls_otherwise(tmp_path: Path) -> None:
    folder(tmp_path, a="The delay doubles with every attempt.", b="Pears are fruit.")
    assert "delay doubles" in researched("How long does it wait?", tmp_path)


def test_related_words_do_not_add_up_to_more_than_the_word_itself(tmp_path: Path) -> None:
    folder(
        tmp_path,
        heap="Delay, backoff, sleep, pause, timeout and interval are nouns of one kind.",
        word="Here one has to wait, as all are told before.",
    )
    assert "`word.txt`" in first_of(researched("How long does one wait?", tmp_path))


def test_the_name_of_a_file_counts(tmp_path: Path) -> None:
    folder(tmp_path, heron="Colour: grey and white.", pigeon="Colour: grey and green.")
    assert "`heron.txt`" in first_of(researched("What colour is the heron?", tmp_path))


@pytest.mark.parametrize(
    "names",
    ["from heron import Heron\nimport heron.nest\n", '__all__ = [\n"heron",\n"Heron",\n]\n'],
)
def test_a_list_of_names_comes_after_what_uses_them(tmp_path: Path, names: str) -> None:
    (tmp_path / "a.py").write_text(names)
    (tmp_path / "b.py").write_text("def stand(bird):\n    return heron(bird, legs=1)\n")
    assert "`b.py`" in first_of(researched("heron", tmp_path))


def test_a_korean_question_finds_its_words_whatever_endings_they_have(tmp_path: Path) -> None:
    folder(tmp_path, a="체크포인트가 저장되면 다음 단계로 넘어간다.", b="오늘은 날씨가 좋다.")
    text = researched("체크포인트를 언제 저장하나요?", tmp_path)
    assert "체크포인트가 저장되면" in text
    assert "날씨" not in text


def test_one_source_does_not_push_the_others_out(tmp_path: Path) -> None:
    many = "\n\n".join(f"# {n}\n\nThe heron waits at pond {n * 7}." for n in range(20))
    folder(tmp_path, many=many, other="A heron waits by the sea as well.")
    heads = [
        extract.splitlines()[0] for extract in extracts_of(researched("heron waits", tmp_path))
    ]
    assert "`other.txt`" in heads[3]
    assert sum("`many.txt`" in head for head in heads[:3]) == 3


def test_without_any_of_its_words_the_report_says_so(tmp_path: Path) -> None:
    folder(tmp_path, a="Pears are fruit.")
    text = researched("Where is the zeppelin?", tmp_path)
    assert (
        "## Nothing to quote\n\nNo passage of the sources has the words of the question." in text
    )
    assert "In no source: zeppelin." in text


def test_the_words_that_are_missing_everywhere_are_named(tmp_path: Path) -> None:
    folder(tmp_path, a="Pears are fruit.")
    text = researched("Are pears zeppelins?", tmp_path)
    assert "Words looked for: pears. In no source: zeppelins." in text


def test_the_same_question_over_the_same_sources_gives_the_same_bytes(tmp_path: Path) -> None:
    question = "How are messages encoded?"
    assert researched(question, DRAMATIQ) == researched(question, DRAMATIQ)


def test_a_score_is_zero_only_without_any_word() -> None:
    query = Query.of(terms("heron"))
    hit = count(Passage(0, 1, 1, 1, "a heron"), query)
    miss = count(Passage(2, 3, 2, 2, "a pear"), query)
    totals = total([hit, miss])
    assert score(hit, frozenset(), totals, query) > 0
    assert score(miss, frozenset(), totals, query) == 0
    assert score(miss, named("/x/heron.txt", query), totals, query) > 0


def test_a_rare_word_is_noted_although_others_fit_better_by_common_ones(tmp_path: Path) -> None:
    """Which words are rare over all sources is not known yet when one source is noted."""
    common = "\n\n".join(f"# {n}\n\nMessage sent, message {n} sent." for n in range(60))
    folder(tmp_path, one=f"{common}\n\n# Last\n\nA heron.\n", two=common)
    assert "A heron." in extracts_of(researched("message sent heron", tmp_path))[0]
