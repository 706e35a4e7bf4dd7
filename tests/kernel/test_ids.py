"""Identities: UUIDv7 bytes, and the fragments people read and type (D48)."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keptstep.models.ids import full, is_fragment, matches, short, uuid7

random_bytes = st.binary(min_size=10, max_size=10)
moments = st.integers(0, 2**48 - 1)


@given(moments, random_bytes)
def test_an_id_is_a_uuid_of_version_7(moment: int, randomness: bytes) -> None:
    made = uuid.UUID(bytes=uuid7(moment, randomness))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == moment


@given(moments, moments, random_bytes, random_bytes)
def test_ids_sort_by_their_moment(one: int, other: int, first: bytes, second: bytes) -> None:
    if one < other:
        assert uuid7(one, first) < uuid7(other, second)


def test_an_id_keeps_74_of_the_random_bits() -> None:
    flipped = set()
    for bit in range(80):
        randomness = (1 << bit).to_bytes(10, "big")
        if uuid7(0, randomness) != uuid7(0, bytes(10)):
            flipped.add(bit)
    assert len(flipped) == 74


def test_an_id_takes_ten_random_bytes() -> None:
    for size in (0, 9, 11):
        with pytest.raises(ValueError, match="10 random bytes"):
            uuid7(0, bytes(size))


def test_people_read_the_last_eight_digits() -> None:
    made = uuid7(1_700_000_000_000, bytes(range(10)))
    assert full(made) == made.hex()
    assert len(full(made)) == 32
    assert short(made) == full(made)[-8:]


@given(moments, random_bytes, st.integers(1, 32))
def test_an_id_is_matched_by_its_beginnings_and_ends(
    moment: int, randomness: bytes, size: int
) -> None:
    made = uuid7(moment, randomness)
    for fragment in (full(made)[:size], full(made)[-size:]):
        assert is_fragment(fragment)
        assert matches(made, fragment)
        assert matches(made, fragment.upper())
    assert matches(made, str(uuid.UUID(bytes=made)))


def test_an_id_is_not_matched_by_its_middle() -> None:
    made = uuid7(0x0123456789AB, bytes(range(10)))
    assert not matches(made, full(made)[4:12])


@pytest.mark.parametrize("text", ["", "-", "g", "0x1f", "a" * 33, "a b", "%", "é", "\n"])
def test_what_cannot_be_part_of_an_id_is_no_fragment(text: str) -> None:
    assert not is_fragment(text)


@pytest.mark.parametrize("text", ["0", "F", "0123abcd", "a" * 32, "01-8b"])
def test_one_to_thirty_two_digits_are_a_fragment(text: str) -> None:
    assert is_fragment(text)
