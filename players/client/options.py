"""Describes the options of a player as text."""

from __future__ import annotations

import inspect
from collections import ChainMap
from collections.abc import Iterator

import players
from games.core import spec
from players.core.player import Player


def described(name: str) -> str:
    """The docstring of a player, and its options with defaults and meanings. Raises SpecError."""
    make = players.find(name)
    meanings = about_options(make)
    rows: list[tuple[str, str, str]] = []
    for key, parameter in spec.parameters_of(make, skip=1).items():
        default = parameter.default
        shown = "" if default in (None, parameter.empty) else str(default)
        shown = shown.lower() if isinstance(default, bool) else shown
        needed = ", required" if default is parameter.empty else ""
        kind = spec.wanted(parameter.annotation) + needed
        rows.append((f"{key}={shown}", kind, meanings.get(key, "")))
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    listed = [
        f"  {option:{widths[0]}}  {kind:{widths[1]}}  {meaning}".rstrip()
        for option, kind, meaning in rows
    ]
    about = "\n\n".join(_docstrings(make))
    head = f"Options, for --option or {name}(...), with their defaults:" if rows else "No options."
    return "\n".join([f"{name}: {about}", "", head, *listed])


def about_options(make: type[Player]) -> dict[str, str]:
    """The meanings of a player's options by name, its own before those of its base classes."""
    return dict(ChainMap(*(dict(vars(base).get("about_options", {})) for base in make.__mro__)))


def _docstrings(make: type[Player]) -> Iterator[str]:
    """The docstrings of a player's class and of the base classes whose options it takes, too."""
    options = spec.parameters_of(make, skip=1).keys()
    for base in make.__mro__[: make.__mro__.index(Player)]:
        if base.__doc__ and spec.parameters_of(base, skip=1).keys() <= options:
            yield inspect.cleandoc(base.__doc__)
