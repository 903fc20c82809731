"""Errors of msgspec in words: of every kind that it has."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

from playout.protocol.faults_in_words import fault_of, in_words


class Colour(enum.Enum):
    """Values with choices."""

    RED = "red"
    BLUE = "blue"


class Inner(msgspec.Struct, array_like=True):
    """A struct that is written as a list."""

    one: int
    two: int = 0


class Each(msgspec.Struct, forbid_unknown_fields=True):
    """A message with a field of each kind."""

    need: int
    text: Annotated[str, msgspec.Meta(min_length=2, max_length=4)] | None = None
    form: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")] = "a"
    few: Annotated[list[int], msgspec.Meta(max_length=2)] = []
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    even: Annotated[int, msgspec.Meta(multiple_of=2)] = 0
    pair: tuple[int, int] = (0, 0)
    inner: Inner | None = None
    colour: Colour = Colour.RED
    seat: Literal[1, 2] | None = None
    names: dict[str, Literal["a", "b"]] = {}
    numbers: dict[int, int] = {}


CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "need is missing"),
    ({"need": 1, "more": 1}, "more is unknown; the fields are need, text, form, few, share, even"),
    ({"need": "1"}, "need must be a whole number, not a text"),
    ({"need": 1.5}, "need must be a whole number, not a number"),
    ({"need": None}, "need must be a whole number, not null"),
    ({"need": True}, "need must be a whole number, not true or false"),
    ({"need": []}, "need must be a whole number, not a list"),
    ({"need": {}}, "need must be a whole number, not a map"),
    ({"need": b"x"}, "need must be a whole number, not bytes"),
    ({"need": 1, "text": 1}, "text must be a text or null, not a whole number"),
    ({"need": 1, "text": "a"}, "text must be a text of at least 2 characters"),
    ({"need": 1, "text": "abcde"}, "text must be a text of at most 4 characters"),
    ({"need": 1, "x" * 60_000: 1}, f"{'x' * 49}… is unknown"),
    ({"need": 1, "form": "A"}, "form must be a text of the form '^[a-z]+$'"),
    ({"need": 1, "few": [1, 2, 3]}, "few must be a list of at most 2 entries"),
    ({"need": 1, "few": [1, "x"]}, "few[1] must be a whole number, not a text"),
    ({"need": 1, "share": 0}, "share must be a number of more than 0"),
    ({"need": 1, "share": 1.0}, "share must be a number of less than 1"),
    ({"need": 1, "even": 3}, "even must be a whole number that is a multiple of 2"),
    ({"need": 1, "pair": [1]}, "pair must be a list of 2 entries, not 1"),
    ({"need": 1, "inner": []}, "inner must be a list of at least 1 entries, not 0"),
    ({"need": 1, "inner": [1, "x"]}, "inner[1] must be a whole number, not a text"),
    ({"need": 1, "colour": "green"}, "colour must be one of 'red', 'blue', not 'green'"),
    ({"need": 1, "seat": 3}, "seat must be one of 1, 2, not 3"),
    ({"need": 1, "names": {"x": "c"}}, "names[...] must be one of 'a', 'b', not 'c'"),
    ({"need": 1, "names": {1: "a"}}, "a key of names must be a text, not a whole number"),
]


@pytest.mark.parametrize(("message", "text"), CASES)
def test_every_kind_of_error_is_a_sentence(message: dict[str, Any], text: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Each)
    told = in_words(caught.value, Each)
    assert told.startswith(text)
    assert not {"`", "$"} & {*told.replace("+$'", "")}


def test_a_value_that_is_cut_says_so() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"need": 1, "colour": "%s"}' % (b"x" * 60), type=Each)
    assert fault_of(caught.value, Each)[1].endswith(f"not '{'x' * 48}…")


def test_a_number_out_of_range_and_a_whole_message() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"need": 1, "share": 1e999}', type=Each)
    assert fault_of(caught.value) == ("share", "is a number that is too large")
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b"[]", type=Each)
    assert in_words(caught.value) == "the message must be a map, not a list"
