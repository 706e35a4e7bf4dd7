"""One text for one value: what is kept, compared and hashed (D10)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keptstep.models.canonical import (
    MAX_DEPTH,
    Arguments,
    InputRef,
    decode,
    encode,
    sha256,
)
from keptstep.models.errors import BadInput, NotSerializable
from keptstep.models.ids import ArtifactId
from keptstep.testing.builders import identity

# A high half followed by a low half is one character of JSON, so the two are left out together.
texts = st.text(st.characters(exclude_characters=[chr(c) for c in range(0xDC00, 0xE000)]))
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are equal and of equal types, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)  # minus zero is a float of its own


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@given(plain_values)
def test_a_value_comes_back_as_it_went(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(plain_values)
def test_a_text_read_and_written_again_is_the_same_text(value: Any) -> None:
    text = encode(value)
    assert encode(decode(text)) == text


@given(plain_values, plain_values)
def test_equal_texts_mean_equal_values_and_the_other_way_round(one: Any, other: Any) -> None:
    assert (encode(one) == encode(other)) == same(one, other)


@given(plain_values)
def test_the_text_is_ascii_on_one_line_without_white_space_of_its_own(value: Any) -> None:
    text = encode(value)
    assert text.isascii()
    assert "\n" not in text
    assert text == json.dumps(value, sort_keys=True, separators=(",", ":"))


@given(st.dictionaries(texts, st.integers(), max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(value: dict[str, int], random: Any) -> None:
    keys = list(value)
    random.shuffle(keys)
    assert encode({key: value[key] for key in keys}) == encode(value)


def test_results_may_keep_the_order_of_their_keys() -> None:
    assert encode({"b": 1, "a": 2}, sort=False) == '{"b":1,"a":2}'
    assert encode({"b": 1, "a": 2}) == '{"a":2,"b":1}'


def test_one_and_one_point_zero_and_true_stay_apart() -> None:
    values: list[Any] = [1, 1.0, True, "1", "1.0", "true", [1], {"1": 1}, None, 0, 0.0, False, ""]
    assert len({encode(value) for value in values}) == len(values)
    assert len({Arguments({"x": value}).digest("tool") for value in values}) == len(values)
    assert [type(decode(encode(value))) for value in values] == [type(value) for value in values]


def test_a_whole_number_keeps_all_its_digits() -> None:
    for number in (2**53 + 1, 2**63, 2**64 + 1, -(2**63) - 1, 10**300):
        assert decode(encode(number)) == number
    assert encode(2**63) == "9223372036854775808"


def test_a_number_of_five_thousand_digits_is_refused_both_ways() -> None:
    with pytest.raises(NotSerializable):
        encode(10**5000)
    with pytest.raises(BadInput):
        decode("1" * 5000)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    for value in (number, [number], {"deep": {"down": [number]}}):
        with pytest.raises(NotSerializable):
            encode(value)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", '{"a":NaN}', "1e999", "[-1e999]"]
)
def test_a_text_with_a_number_that_is_not_finite_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        decode(text)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1000, 200_000])
def test_what_is_nested_too_deep_is_refused_both_ways(depth: int) -> None:
    with pytest.raises(NotSerializable):
        encode(nested(depth))
    with pytest.raises(BadInput):
        decode("[" * depth + "1" + "]" * depth)
    with pytest.raises(BadInput):
        decode('{"a":' * depth + "1" + "}" * depth)


def test_the_deepest_value_allowed_goes_both_ways() -> None:
    value = nested(MAX_DEPTH)
    assert decode(encode(value)) == value


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotSerializable):
        encode(loop)


@pytest.mark.parametrize("key", [1, 1.0, True, None, b"1", ("a",)], ids=repr)
def test_a_key_that_is_not_text_is_refused(key: Any) -> None:
    for value in ({key: 1}, {key: 1, "1": 2}, [{"inner": {key: 1}}]):
        with pytest.raises(NotSerializable):
            encode(value)


@pytest.mark.parametrize(
    "value", [b"bytes", {1, 2}, object(), 1j, range(3)], ids=lambda value: type(value).__name__
)
def test_what_json_has_no_form_for_is_refused_by_its_type_and_place(value: Any) -> None:
    with pytest.raises(NotSerializable, match=type(value).__name__) as refused:
        encode({"page": [1, value]})
    assert "$.page[1]" in str(refused.value)


def test_a_key_that_comes_twice_is_refused() -> None:
    for text in ('{"a":1,"a":1}', '{"a":1,"b":{"c":1,"c":2}}', '{"a":1,"\\u0061":2}'):
        with pytest.raises(BadInput):
            decode(text)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "{'a':1}", "nul", "1 2", b"\xff\xfe\x00", b"\x80"]
)
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(BadInput):
        decode(text)


def test_a_refusal_does_not_repeat_the_document() -> None:
    for text in ('{"token": "s3cr3t", }', '{"s3cr3t":1,"s3cr3t":2}', '["s3cr3t"'):
        with pytest.raises(BadInput) as refused:
            decode(text)
        assert "s3cr3t" not in str(refused.value)


def test_a_lone_surrogate_survives() -> None:
    for value in ("\ud800", "a\udfffb", {"\udc00": "\udbff"}):
        text = encode(value)
        assert text.isascii()
        assert decode(text) == value


def test_forms_of_one_letter_are_different_texts() -> None:
    composed, taken_apart = "\u00e9", "e\u0301"
    assert encode(composed) != encode(taken_apart)
    assert decode(encode(taken_apart)) == taken_apart


def test_nul_and_control_characters_survive() -> None:
    value = "".join(chr(code) for code in range(32)) + "\u2028\u007f"
    assert decode(encode(value)) == value


def test_a_payload_is_named_by_the_sha_256_of_its_bytes() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256(b"") == empty
    assert sha256(b"a") != empty


REF = InputRef(("pages", 0), ArtifactId(identity("artifact", 1)), sha256(b"a page"))


class TestArguments:
    def test_a_document_is_read_back_as_it_was(self) -> None:
        arguments = Arguments({"pages": [None, 2], "question": "why"}, (REF,))
        assert Arguments.of_document(arguments.document()) == arguments

    @given(st.dictionaries(texts, plain_values, max_size=4))
    def test_any_plain_values_are_read_back_as_they_were(self, values: dict[str, Any]) -> None:
        found = Arguments.of_document(Arguments(values).document())
        assert same(found.values, values)
        assert found.refs == ()

    def test_values_that_look_like_refs_stay_values(self) -> None:
        hostile = {
            "refs": [[["pages", 0], REF.id.hex(), REF.sha]],
            "values": {"refs": [[[], "00" * 16, "00" * 32]]},
            "__ref__": REF.id.hex(),
            "id": REF.id.hex(),
        }
        for values in (hostile, {"page": hostile}, {"refs": "x"}):
            arguments = Arguments(values)
            found = Arguments.of_document(arguments.document())
            assert (found.values, found.refs) == (values, ())

    def test_values_that_look_like_refs_are_not_the_same_call_as_refs(self) -> None:
        with_ref = Arguments({"pages": [None]}, (REF,))
        look_alike = Arguments({"pages": [None], "refs": [[["pages", 0], REF.sha]]})
        assert with_ref.digest("tool") != look_alike.digest("tool")
        assert with_ref.digest("tool") != Arguments({"pages": [None]}).digest("tool")

    def test_the_content_of_a_ref_makes_the_call_and_not_its_id(self) -> None:
        again = InputRef(REF.path, ArtifactId(identity("artifact", 2)), REF.sha)
        other = InputRef(REF.path, REF.id, sha256(b"another page"))
        digests = [Arguments({"pages": [None]}, (ref,)).digest("tool") for ref in (REF, again)]
        assert digests[0] == digests[1]
        assert Arguments({"pages": [None]}, (other,)).digest("tool") != digests[0]

    def test_the_tool_makes_the_call_too(self) -> None:
        arguments = Arguments({"question": "why"})
        assert arguments.digest("search") != arguments.digest("fetch")

    def test_fields_cannot_be_shifted_into_each_other(self) -> None:
        assert Arguments({"a": "b", "c": "d"}).digest("t") != Arguments({"a": "b,c:d"}).digest("t")
        assert Arguments({"a": ["b"]}).digest("t") != Arguments({"a": "b"}).digest("t")
