"""Specifications and options, including those passed to base classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import pytest

from playout import games
from playout.games.core.spec import (
    HasOptions,
    Option,
    SpecError,
    bind,
    canonical,
    parameters_of,
    parse,
)


class SearchingPlayer:
    def __init__(self, game: object, time: float | None = None, c: float = 0.5) -> None:
        self.given = (time, c)


class Quiet(SearchingPlayer):
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
    for char in "\n\t\u2028":
        with pytest.raises(SpecError, match="the option 'fen' must be on one line, without tabs"):
            parse(f"chess(fen=4k3/8/8/8/8/8/8/4K3 w{char}- - 0 1)")


def test_one_spelling_with_the_options_of_the_base() -> None:
    arguments = {"time": 0.5, "c": 0.0, "k": 3.0}
    assert canonical("rave", _Rave, arguments) == "rave(k=3.0,time=0.5)"
    assert canonical("rave", _Rave, {"c": 0.5}) == "rave(c=0.5)"


def test_the_type_of_a_parameter_in_words() -> None:
    words = {name: each.kind for name, each in parameters_of(Closed, 1).items()}
    assert words == {"name": "text", "deep": "true or false"}
    assert parameters_of(SearchingPlayer)["time"].kind == "a number"


class Chosen:
    def __init__(self, kind: Literal["short", "long"], size: int = 3) -> None:
        pass


def test_a_text_may_have_choices() -> None:
    assert bind(Chosen, parse("chosen(kind=long)")) == {"kind": "long"}
    assert canonical("chosen", Chosen, {"kind": "long", "size": 3}) == "chosen(kind=long)"
    found = {name: each.choices for name, each in parameters_of(Chosen).items()}
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


Share = Annotated[float, Option("share of the moves", ge=0, le=1)]


class Ranged(HasOptions):
    def __init__(
        self,
        game: object,
        share: Share = 0.5,
        depth: Annotated[int | None, Option("depth in plies", gt=0, default="no limit")] = None,
        plain: int = 3,
        kind: Literal["short", "long"] = "short",
    ) -> None:
        self.given = share, depth, plain, kind


class Narrower(Ranged):
    """Its `share` has another range, and `other` is not declared."""

    def __init__(
        self,
        game: object,
        share: Annotated[float, Option("share", ge=0.5)] = 1.0,
        other: float = 0.0,
        **options: int,
    ) -> None:
        super().__init__(game, share, **options)  # type: ignore[arg-type]


def test_a_range_in_words() -> None:
    assert Option(ge=1, le=256).range == "1 to 256"
    assert Option(ge=0).range == "0 or more"
    assert Option(gt=0, le=1).range == "above 0, at most 1"
    assert Option("anything").range == ""
    declared = parameters_of(Ranged, skip=1)
    assert declared["share"].option.meaning == "share of the moves, 0 to 1"
    assert declared["depth"].values == "a whole number, above 0"
    assert declared["plain"].values == "a whole number"
    assert declared["kind"].values == "one of short, long"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("share", -0.1, "share must be from 0 to 1, not -0.1"),
        ("share", 1.5, "share must be from 0 to 1, not 1.5"),
        ("depth", 0, "depth must be above 0, not 0"),
        ("kind", "shart", "unknown kind of .anged 'shart'; did you mean 'short'"),
    ],
)
def test_a_value_outside_the_range_is_refused_as_text_and_in_python(
    key: str, value: float | str, told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        bind(Ranged, parse(f"ranged({key}={value})"), skip=1)
    with pytest.raises(SpecError, match=told):
        Ranged(None, **{key: value})  # type: ignore[arg-type]


def test_values_at_the_bounds_and_none_are_accepted() -> None:
    assert bind(Ranged, parse("ranged(share=1,depth=1,plain=-7)"), skip=1)
    assert Ranged(None, 0, None, -7).given == (0, None, -7, "short")


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_number_is_finite(value: str) -> None:
    with pytest.raises(SpecError, match="share must be a number, not"):
        bind(Ranged, parse(f"ranged(share={value})"), skip=1)
    with pytest.raises(SpecError, match=f"Ranged: share must be a number, not {value}"):
        Ranged(None, share=float(value))
    with pytest.raises(SpecError, match="c must be a number"):
        bind(SearchingPlayer, parse(f"search(c={value})"), skip=1)


def test_each_class_checks_the_options_that_it_declares() -> None:
    with pytest.raises(SpecError, match=r"Narrower: share must be 0\.5 or more, not 0\.2"):
        Narrower(None, 0.2)
    with pytest.raises(SpecError, match="Narrower: share must be from 0 to 1, not 3"):
        Narrower(None, 3)
    with pytest.raises(SpecError, match="Narrower: depth must be above 0, not -1"):
        Narrower(None, depth=-1)
    assert Narrower(None, other=-1.0, depth=2).given == (1.0, 2, 3, "short")


def test_games_of_one_family_are_known_by_whatever_name() -> None:
    for name in games.names():
        if games.describe(name).example == name:
            assert games.load(name).family == {"gomoku": "mnk", "tic_tac_toe": "mnk"}.get(
                name, name
            )
    assert games.load("y(size=4)").family == "y"


def _spellings() -> Iterator[tuple[str, str]]:
    """Yield each option of each game with its default, in other ways to write it."""
    for name in {*games.names()} - {"open_spiel"}:  # it needs an option
        for key, parameter in parameters_of(type(games.load(name))).items():
            if isinstance(default := parameter.default, bool):
                yield name, f"{name}({key}={str(default).upper()})"
            elif isinstance(default, int | float):
                yield name, f"{name}({key}=0{default}{'0' * isinstance(default, float)})"
            elif default is not None:
                yield name, f"{name}({key}={default})"


def test_an_option_that_equals_its_default_is_not_part_of_the_name() -> None:
    found = {text: str(games.load(text)) for _, text in _spellings()}
    assert len(found) > len(games.names())
    assert found == {text: name for name, text in _spellings()}


_USUAL = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"
_AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"chess(fen={_USUAL} {end})", "chess") for end in ("w KQkq - 0 1", "w  KQkq -")),
        (f"chess(fen={_USUAL} w KQkq - 0 7)", f"chess(fen={_USUAL} w KQkq - 0 7)"),
        (f"chess(fen={_USUAL} w - -)", f"chess(fen={_USUAL} w - - 0 1)"),
        *((f"chess(fen={_AFTER_E4} {passed})", f"chess(fen={_AFTER_E4} - 0 1)")
          for passed in ("e3 0 1", "-", "- 0 0")),
        ("nim(piles=01;3;05)", "nim(piles=1;3;5)"),
        ("go(komi=7.50,size=019)", "go(size=19)"),
    ],
)  # fmt: skip
def test_positions_and_numbers_that_are_equal_have_one_name(text: str, expected: str) -> None:
    assert str(games.load(text)) == str(games.load(expected)) == expected
