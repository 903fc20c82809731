"""What a single value of a tournament's file may be."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TypeVar

import games
from games import Game
from games.core import spec
from server.model import names
from server.model.time_control import canonical_time_control

T = TypeVar("T")
#: Makes what is meant of a value. Raises ValueError, which says what is allowed.
Check = Callable[[object], T]

#: The whole numbers of TOML.
WHOLE = (-(2**63), 2**63 - 1)


def text(value: object) -> str:
    """Text."""
    if not isinstance(value, str):
        raise _expected("text in quotes", value)
    return value


def list_(value: object) -> list[object]:
    """A list that is not empty."""
    if not isinstance(value, list) or not value:
        raise _expected("a list of one or more", value)
    return value


def table(value: object) -> dict[str, object]:
    """A table."""
    if not isinstance(value, dict):
        raise _expected("a table, { key = value }", value)
    return value


def one_of(kind: str, allowed: Sequence[str]) -> Check[str]:
    """One of some words."""

    def check(value: object) -> str:
        chosen = text(value)
        if chosen not in allowed:
            raise spec.unknown(kind, chosen, allowed)
        return chosen

    return check


def whole(low: int, high: int) -> Check[int]:
    """A whole number, both bounds included."""

    def check(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _expected(f"a whole number from {low} to {high}", value)
        return value

    return check


def number(low: float, high: float) -> Check[float]:
    """A number, both bounds included."""
    allowed = f"a number from {low:g} to {high:g}"

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _expected(allowed, value)
        if not low <= value <= high:
            raise _expected(allowed, value)
        return float(value)

    return check


def risk(value: object) -> float:
    """A probability of error."""
    if not isinstance(value, float) or not 0 < value < 0.5:
        raise _expected("a number between 0 and 0.5", value)
    return value


def truth(value: object) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise _expected("true or false", value)
    return value


def visible(longest: int) -> Check[str]:
    """Text without control characters, and without blanks at its ends."""

    def check(value: object) -> str:
        stripped = text(value).strip()
        if not (stripped.isprintable() and 1 <= len(stripped) <= longest):
            raise ValueError(f"must be 1 to {longest} characters that can be seen")
        return stripped

    return check


def one_of_names(allowed: Sequence[str]) -> Check[str]:
    """The name of an entrant."""
    among = one_of("entrant", allowed)
    return lambda value: among(name(value))


def name(value: object) -> str:
    """A name that the server accepts, as it shows it."""
    return names.normalised(text(value))


def game(value: object) -> Game:
    """A game with its parameters."""
    return games.load(text(value))


def clock(value: object) -> str:
    """A clock, in its one spelling."""
    return canonical_time_control(text(value))


def player(value: object) -> str:
    """A player with options. Whether there is one, and whether it takes them, is not known here."""
    spelled = text(value).strip()
    spec.parse(spelled)
    return spelled


def command(value: object) -> str:
    """A program and what it is given, with quotes as for a shell."""
    line = visible(1000)(value)
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"cannot be taken apart as a shell does it: {error}") from None
    if not (words and words[0]):
        raise ValueError("must name a program")
    return line


def _expected(allowed: str, value: object) -> ValueError:
    return ValueError(f"must be {allowed}, not {_shown(value)}")


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) > WHOLE[1]:
            return "a number of more than 64 bits"
        case str():
            return repr(value if len(value) <= 50 else value[:49] + "…")
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a table"
    return str(value)
