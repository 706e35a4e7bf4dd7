"""Python values and the payloads they are kept as."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from keptstep.models.artifacts import BYTES_TYPE, JSON_TYPE, TEXT_TYPE
from keptstep.models.canonical import MAX_DEPTH
from keptstep.models.errors import ArtifactMissing, BadInput, NotSerializable
from keptstep.models.stores.artifacts_memory import MemoryArtifactStore
from keptstep.testing.builders import payload
from keptstep.workflows.values import (
    Result,
    arguments,
    decode_value,
    encode_value,
    plain,
    put_back,
    shape,
)


@dataclass
class Hit:
    title: str
    score: float
    tags: tuple[str, ...] = ()


@dataclass
class Page:
    hit: Hit
    body: bytes | None = None


class Report(BaseModel):
    title: str
    when: datetime
    hits: list[Hit] = []


class Colour(Enum):
    RED = "red"


class Kind(StrEnum):
    NEWS = "news"


class Level(IntEnum):
    HIGH = 3


HIT = Hit("a title", 0.5, ("x", "y"))
REF = payload().ref


def a_store() -> MemoryArtifactStore:
    return MemoryArtifactStore(max_bytes=1 << 20)


def kept(value: object, as_type: Any = None) -> Any:
    return decode_value(*encode_value(value), as_type)


@given(st.binary())
def test_bytes_are_kept_as_they_are(value: bytes) -> None:
    assert encode_value(value) == (value, BYTES_TYPE)
    assert encode_value(bytearray(value)) == encode_value(memoryview(value)) == (value, BYTES_TYPE)
    assert kept(value) == value


@given(st.text(st.characters()))
def test_text_is_kept_as_it_is_lone_surrogates_included(value: str) -> None:
    data, media_type = encode_value(value)
    assert media_type == TEXT_TYPE
    assert data == value.encode("utf-8", "surrogatepass")
    assert kept(value) == value


@pytest.mark.parametrize("value", ["", " ", "\n", b""], ids=["empty", "space", "line", "bytes"])
def test_an_empty_result_is_a_result(value: str | bytes) -> None:
    assert kept(value) == value


@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 2**63, 1.5, [], {}, [1, [2]], {"b": 1, "a": [None]}], ids=repr
)
def test_everything_else_is_kept_as_json(value: object) -> None:
    _, media_type = encode_value(value)
    found = kept(value)
    assert media_type == JSON_TYPE
    assert found == value
    assert type(found) is type(value)


def test_a_result_keeps_the_order_of_its_keys() -> None:
    assert list(kept({"b": 1, "a": 2})) == ["b", "a"]


def test_a_dataclass_comes_back_where_its_type_is_asked_for() -> None:
    page = Page(HIT)
    assert kept(page) == {
        "hit": {"title": "a title", "score": 0.5, "tags": ["x", "y"]},
        "body": None,
    }
    assert kept(page, Page) == page
    assert kept([HIT, HIT], list[Hit]) == [HIT, HIT]
    assert kept({"first": HIT}, dict[str, Hit]) == {"first": HIT}


def test_a_model_comes_back_where_its_type_is_asked_for() -> None:
    report = Report(title="t", when=datetime(2024, 5, 6, 7, 8, tzinfo=UTC), hits=[HIT])
    assert kept(report, Report) == report
    assert kept(report)["when"] == "2024-05-06T07:08:00+00:00"


@pytest.mark.parametrize(
    ("value", "as_plain", "as_type"),
    [
        ((1, 2), [1, 2], tuple[int, int]),
        (Colour.RED, "red", Colour),
        (Kind.NEWS, "news", Kind),
        (Level.HIGH, 3, Level),
        (date(2024, 5, 6), "2024-05-06", date),
        (Path("a/b"), "a/b", Path),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", uuid.UUID),
    ],
    ids=["tuple", "enum", "text enum", "number enum", "date", "path", "uuid"],
)
def test_what_json_lacks_becomes_what_it_has(
    value: object, as_plain: object, as_type: Any
) -> None:
    found = plain([value, {"inner": value}])
    assert found == [as_plain, {"inner": as_plain}]
    assert type(found[0]) is type(as_plain)
    assert kept([value], list[as_type]) == [value]


def test_a_subclass_of_a_plain_type_counts_as_the_plain_one() -> None:
    class Name(str):
        __slots__ = ()

    class Count(int):
        pass

    found = plain([Name("a"), Count(2)])
    assert found == ["a", 2]
    assert [type(item) for item in found] == [str, int]


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, float("nan"), [float("inf")], {1: "a"}, {"a": b"b"}, Page(HIT, b"b")],
    ids=["object", "set", "complex", "nan", "infinity", "key", "bytes inside", "bytes in a field"],
)
def test_what_cannot_be_kept_is_refused(value: object) -> None:
    with pytest.raises(NotSerializable):
        encode_value(value)


def test_what_is_nested_too_deep_or_in_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = {"a": deep}
    values: list[Any] = [loop, deep]
    for value in values:
        with pytest.raises(NotSerializable):
            encode_value(value)


def test_a_result_that_hides_a_reference_is_refused() -> None:
    hiding: list[Any] = [REF, [REF], {"page": Result(REF, a_store())}]
    for value in hiding:
        with pytest.raises(NotSerializable, match="reference"):
            encode_value(value)


class TestShape:
    def test_without_a_type_a_value_stays_as_it_is(self) -> None:
        value = object()
        assert shape(value, None, "it") is value
        assert shape(value, Any, "it") is value

    @pytest.mark.parametrize(
        ("value", "as_type"),
        [
            ({"title": "t"}, Hit),
            ([{"title": "t", "score": "much"}], list[Hit]),
            ("blue", Literal["red"]),
            (None, int),
        ],
        ids=["missing", "wrong", "literal", "none"],
    )
    def test_what_does_not_fit_is_refused_by_its_place(self, value: Any, as_type: Any) -> None:
        with pytest.raises(BadInput, match="the argument page"):
            shape(value, as_type, "the argument page")

    def test_a_refusal_does_not_repeat_the_value(self) -> None:
        with pytest.raises(BadInput) as refused:
            shape({"title": "t", "score": "s3cr3t"}, Hit, "the argument hit")
        assert "s3cr3t" not in str(refused.value)
        assert "score" in str(refused.value)
        assert refused.value.__cause__ is None


class TestArguments:
    def test_refs_leave_their_place_and_stand_beside_the_values(self) -> None:
        store = a_store()
        found = arguments(
            {"pages": [REF, Result(REF, store)], "by": {"name": REF}, "top": REF, "n": 1}
        )
        assert found.values == {"pages": [None, None], "by": {"name": None}, "top": None, "n": 1}
        paths = {ref.path for ref in found.refs}
        assert paths == {("pages", 0), ("pages", 1), ("by", "name"), ("top",)}
        assert {(ref.id, ref.sha) for ref in found.refs} == {(REF.id, REF.sha)}

    def test_a_ref_in_a_dataclass_is_found_too(self) -> None:
        @dataclass
        class Cited:
            page: Any

        found = arguments({"cited": [Cited(REF)]})
        assert [ref.path for ref in found.refs] == [("cited", 0, "page")]

    def test_what_stood_at_a_ref_is_put_back_in_its_place(self) -> None:
        inputs = {"pages": [REF, 2, [REF]], "top": REF, "by": {"name": REF}}
        found = arguments(inputs)
        again = put_back(found.values, [(ref.path, f"at {len(ref.path)}") for ref in found.refs])
        assert again == {"pages": ["at 2", 2, ["at 3"]], "top": "at 1", "by": {"name": "at 2"}}

    def test_values_that_look_like_refs_stay_values(self) -> None:
        look_alike = {"refs": [[["a"], REF.id.hex(), REF.sha]], "id": REF.id.hex(), "sha": REF.sha}
        found = arguments({"page": look_alike})
        assert (found.values, found.refs) == ({"page": look_alike}, ())

    def test_arguments_that_cannot_be_kept_are_refused(self) -> None:
        for value in (object(), b"bytes", {1: 2}):
            with pytest.raises(NotSerializable):
                arguments({"value": value})


class TestResult:
    def test_the_value_is_loaded_once_and_only_when_it_is_asked_for(self) -> None:
        store, loads = a_store(), list[str]()
        data, media_type = encode_value(HIT)
        blob = store.put([data])
        ref = type(REF)(REF.id, blob.sha, REF.artifact_class, media_type, blob.size)
        result: Result[Hit] = Result(ref, store, Hit, lambda: loads.append("load"))
        assert result.ref is ref
        assert loads == []
        assert result.value == HIT
        assert result.value is result.value
        assert loads == ["load"]

    def test_the_bytes_can_be_read_without_loading_the_value(self) -> None:
        store = a_store()
        blob = store.put([b"a long page"])
        ref = type(REF)(REF.id, blob.sha, REF.artifact_class, BYTES_TYPE, blob.size)
        with Result[bytes](ref, store).open() as file:
            assert file.read() == b"a long page"

    def test_a_ref_may_be_read_when_it_is_first_asked_for(self) -> None:
        reads: list[str] = []

        def read() -> Any:
            reads.append("read")
            return REF

        result: Result[Any] = Result(read, a_store())
        assert reads == []
        assert result.ref is result.ref is REF
        assert reads == ["read"]

    def test_a_result_whose_file_is_gone_says_so(self) -> None:
        with pytest.raises(ArtifactMissing):
            _ = Result[Any](REF, a_store()).value

    def test_a_result_shows_its_artifact_and_never_its_content(self) -> None:
        store = a_store()
        blob = store.put([b'"s3cr3t"'])
        ref = type(REF)(REF.id, blob.sha, REF.artifact_class, JSON_TYPE, blob.size)
        result: Result[str] = Result(ref, store)
        assert result.value == "s3cr3t"
        assert "s3cr3t" not in repr(result)
        assert REF.id.hex()[-8:] in repr(result)
