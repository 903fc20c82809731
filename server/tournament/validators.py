"""Checks of single values of a specification, from a file or from a message."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TypeVar

import games
from games import Game
from games.core import spec
from server.model import names
from server.model.time_control import canonical_time_control

T = TypeVar("T")
#: Returns the canonical form of a value. Raises ValueError, which says what is allowed.
Check = Callable[[object], T]

#: The whole numbers of TOML.
WHOLE = (-(2**63), 2**63 - 1)


def text(value: object) -> str:
    """Returns a text; raises ValueError for any other type."""
    if not isinstance(value, str):
        raise _expected("text in quotes", value)
    return value


def list_(value: object) -> list[object]:
    """Returns a list with one element or more; raises ValueError."""
    if not isinstance(value, list) or not value:
        raise _expected("a list of one or more", value)
    return value


def table(value: object) -> dict[str, object]:
    """Returns a table; raises ValueError for any other type."""
    if not isinstance(value, dict):
        raise _expected("a table, { key = value }", value)
    return value


def one_of(kind: str, allowed: Sequence[str]) -> Check[str]:
    """Makes a check for one of the allowed words; `kind` names them in errors."""

    def check(value: object) -> str:
        chosen = text(value)
        if chosen not in allowed:
            raise spec.unknown(kind, chosen, allowed)
        return chosen

    return check


def whole(low: int, high: int) -> Check[int]:
    """Makes a check for a whole number within bounds, both included."""

    def check(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _expected(f"a whole number from {low} to {high}", value)
        return value

    return check


def number(low: float, high: float) -> Check[float]:
    """Makes a check for a number within bounds, both included."""
    allowed = f"a number from {low:g} to {high:g}"

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _expected(allowed, value)
        if not low <= value <= high:
            raise _expected(allowed, value)
        return float(value)

    return check


def risk(value: object) -> float:
    """Returns a probability of error, between 0 and 0.5; raises ValueError."""
    if not isinstance(value, float) or not 0 < value < 0.5:
        raise _expected("a number between 0 and 0.5", value)
    return value


def truth(value: object) -> bool:
    """Returns a boolean; raises ValueError for any other type."""
    if not isinstance(value, bool):
        raise _expected("true or false", value)
    return value


def visible(longest: int) -> Check[str]:
    """Makes a check for text without control characters; blanks at its ends are removed."""

    def check(value: object) -> str:
        stripped = text(value).strip()
        if not (stripped.isprintable() and 1 <= len(stripped) <= longest):
            raise ValueError(f"must be 1 to {longest} characters that can be seen")
        return stripped

    return check


def name(value: object) -> str:
    """Returns a player's name as the server shows it; raises ValueError if it is not allowed."""
    return names.normalised(text(value))


def game(value: object) -> Game:
    """Returns the game that a text names, with its parameters; raises SpecError."""
    return games.load(text(value))


def clock(value: object) -> str:
    """Returns the canonical notation of a time control; raises TimeControlError."""
    return canonical_time_control(text(value))


def player(value: object) -> str:
    """Returns a player with its options; raises SpecError if it cannot be parsed.

    Whether the player exists and takes these options is not known here.
    """
    spelled = text(value).strip()
    spec.parse(spelled)
    return spelled


def options(value: object) -> dict[str, str]:
    """Returns options of a player as texts, by name; raises ValueError if one cannot be written.

    A player with its options is one text, in which commas and parentheses have a meaning.
    """
    found = {}
    for key, each in table(value).items():
        if not isinstance(each, bool | int | float | str):
            raise ValueError(f"{key} must be a number, text, true or false, not {_shown(each)}")
        written = spec.spelled(each).strip()
        if not written or set(written) & set(",()") or not re.fullmatch(r"\w+", key):
            raise ValueError(f"{key} = {written[:50]!r} cannot be an option of a player")
        found[key] = written
    return found


def command(value: object) -> str:
    """Returns a command line with quotes as for a shell; raises ValueError without a program."""
    line = visible(1000)(value)
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"cannot be split into words as a shell does: {error}") from None
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
