"""Specifications and options, including those passed to base classes."""

from __future__ import annotations

from typing import Literal

import pytest

from playout import games
from playout.games.core.spec import (
    SpecError,
    bind,
    canonical,
    choices,
    parameters_of,
    parse,
    wanted,
)


class Search:
    def __init__(self, game: object, time: float | None = None, c: float = 0.5) -> None:
        self.given = (time, c)


class Quiet(Search):
    """A class without an `__init__` of its own."""


class _Rave(Quiet):
    def __init__(self, game: object, k: float = 1000.0, c: float = 0.0, **options: object) -> None:
        super().__init__(game, c=c, **options)  # type: ignore[arg-type]
        self.k = k


class Closed(_Rave):
    def __init__(self, game: object, name: str, deep: bool = False) -> None:
        super().__init__(game)


class Open:
    def __init__(self, game: object, **options: object) -> None:
        pass


def test_options_of_the_base_are_taken_and_ones_own_default_counts() -> None:
    parameters = parameters_of(_Rave, skip=1)
    assert {name: each.default for name, each in parameters.items()} == {
        "k": 1000.0,
        "c": 0.0,
        "time": None,
    }
    arguments = bind(_Rave, parse("rave(time=0.5,k=3)"), skip=1)
    assert arguments == {"time": 0.5, "k": 3.0}
    assert _Rave(None, **arguments).given == (0.5, 0.0)


def test_without_a_double_star_the_base_does_not_count() -> None:
    assert list(parameters_of(Closed, skip=1)) == ["name", "deep"]
    assert list(parameters_of(Quiet, skip=1)) == ["time", "c"]
    assert not parameters_of(Open, skip=1)
    assert not parameters_of(object)


def test_unknown_and_missing_options_are_named() -> None:
    with pytest.raises(SpecError, match=r"'tim'; did you mean 'time'\? \(there are: c, k, time\)"):
        bind(_Rave, parse("rave(tim=1)"), skip=1)
    with pytest.raises(SpecError, match="time must be a number, not 'long'"):
        bind(_Rave, parse("rave(time=long)"), skip=1)
    with pytest.raises(SpecError, match="closed needs the option 'name'"):
        bind(Closed, parse("closed"), skip=1)


def test_characters_that_cannot_be_seen_are_refused() -> None:
    assert parse("rave(\n  time=0.5,\n  k=3\n)").options == {"time": "0.5", "k": "3"}
    for char in ("\0", "\x1b", "\u202e", "\ud800"):
        with pytest.raises(SpecError, match="cannot read"):
            parse(f"rave(time={char})")


def test_one_spelling_with_the_options_of_the_base() -> None:
    arguments = {"time": 0.5, "c": 0.0, "k": 3.0}
    assert canonical("rave", _Rave, arguments) == "rave(k=3.0,time=0.5)"
    assert canonical("rave", _Rave, {"c": 0.5}) == "rave(c=0.5)"


def test_the_type_of_a_parameter_in_words() -> None:
    words = {name: wanted(each.annotation) for name, each in parameters_of(Closed, 1).items()}
    assert words == {"name": "text", "deep": "true or false"}
    assert wanted(parameters_of(Search)["time"].annotation) == "a number"


class Chosen:
    def __init__(self, kind: Literal["short", "long"], size: int = 3) -> None:
        pass


def test_a_text_may_have_choices() -> None:
    assert bind(Chosen, parse("chosen(kind=long)")) == {"kind": "long"}
    assert canonical("chosen", Chosen, {"kind": "long", "size": 3}) == "chosen(kind=long)"
    found = {name: choices(each.annotation) for name, each in parameters_of(Chosen).items()}
    assert found == {"kind": ("short", "long"), "size": ()}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("chosen", r"needs the option 'kind': chosen\(kind=...\) \(there are: short, long\)"),
        ("chosen(kind=shart)", "unknown kind of chosen 'shart'; did you mean 'short'"),
    ],
)
def test_a_text_that_is_no_choice_is_refused_with_the_choices(spec: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        bind(Chosen, parse(spec))


def test_games_of_one_family_are_known_by_whatever_name() -> None:
    for name in games.names():
        if games.describe(name).example == name:
            assert games.load(name).family == {"gomoku": "mnk", "tic_tac_toe": "mnk"}.get(
                name, name
            )
    assert games.load("y(size=4)").family == "y"
