"""Describes all games as text: their rules, their parameters and their variants."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import games
from games import Description
from games.core.description import Parameter

WIDTH = 80


def game_list() -> str:
    """Return the descriptions of all games, in lines of at most WIDTH characters if they fit."""
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


def _default(parameter: Parameter) -> str:
    """Return a parameter with its default, as it is written in a specification of the game."""
    default = "" if parameter.default is None else str(parameter.default)
    shown = default.lower() if isinstance(parameter.default, bool) else default
    return f"{parameter.name}={shown}"
