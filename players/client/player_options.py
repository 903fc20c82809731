"""Describes the options of a player as text, and all games with their parameters and variants."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

from playout import games, players
from playout.games import Description
from playout.games.core import spec
from playout.games.core.description import DescribedParameter
from playout.players.core.player import Player

#: Preferred maximum line length of the list of games.
WIDTH = 80


def described(name: str) -> str:
    """Return a player's docstring and options: defaults, values, meanings. Raises SpecError."""
    make = players.find(name)
    rows: list[tuple[str, str, str]] = []
    for key, parameter in spec.parameters_of(make, skip=1).items():
        shown = "" if parameter.default is None else spec.spelled(parameter.default)
        values = parameter.values + (", required" if parameter.required else "")
        default = f"; by default {parameter.option.default}" if parameter.option.default else ""
        rows.append((f"{key}={shown}", values, parameter.option.about + default))
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    listed = [
        f"  {option:{widths[0]}}  {values:{widths[1]}}  {meaning}".rstrip()
        for option, values, meaning in rows
    ]
    about = "\n\n".join(_docstrings(make))
    head = f"Options, for --option or {name}(...), with their defaults:" if rows else "No options."
    return "\n".join([f"{name}: {about}", "", head, *listed])


def _docstrings(make: type[Player]) -> Iterator[str]:
    """Yield the docstrings of a player's class, and of base classes with the same options."""
    options = spec.parameters_of(make, skip=1).keys()
    for base in make.__mro__[: make.__mro__.index(Player)]:
        if base.__doc__ and spec.parameters_of(base, skip=1).keys() <= options:
            yield inspect.cleandoc(base.__doc__)


def game_list() -> str:
    """Return the descriptions of all games, in lines of at most WIDTH characters if possible."""
    return "\n\n".join("\n".join(_lines(games.describe(name))) for name in games.names())


def _lines(game: Description) -> Iterator[str]:
    yield game.name
    yield from textwrap.wrap(game.about, WIDTH, initial_indent="  ", subsequent_indent="  ")
    rows = [(_default(each), each.about or each.kind) for each in game.parameters]
    rows += [(each.game, each.about) for each in game.variants]
    width = max((len(left) for left, _ in rows), default=0)
    for left, right in rows:
        head, rest = f"  {left:{width}}  ", " " * (width + 4)
        yield from textwrap.wrap(right, WIDTH, initial_indent=head, subsequent_indent=rest)


def _default(parameter: DescribedParameter) -> str:
    """Return a parameter with its default, as in a specification of the game."""
    default = "" if parameter.default is None else str(parameter.default)
    shown = default.lower() if isinstance(parameter.default, bool) else default
    return f"{parameter.name}={shown}"
