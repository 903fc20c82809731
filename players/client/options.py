"""Describes the options of a player as text."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import players
from games.core import spec
from players.core.player import Player


def described(name: str) -> str:
    """The docstring of a player, and its options with their defaults. Raises SpecError."""
    make = players.find(name)
    rows = []
    for key, parameter in spec.parameters_of(make, skip=1).items():
        default = parameter.default
        shown = "" if default in (None, parameter.empty) else str(default)
        shown = shown.lower() if isinstance(default, bool) else shown
        needed = ", required" if default is parameter.empty else ""
        rows.append((f"{key}={shown}", spec.wanted(parameter.annotation) + needed))
    width = max((len(row[0]) for row in rows), default=0)
    listed = [f"  {left:{width}}  {right}" for left, right in rows]
    about = "\n\n".join(_docstrings(make))
    head = f"Options, for --option or {name}(...), with their defaults:" if rows else "No options."
    return "\n".join([f"{name}: {about}", "", head, *listed])


def _docstrings(make: type[Player]) -> Iterator[str]:
    """The docstrings of a player's class and of the base classes whose options it takes, too."""
    options = spec.parameters_of(make, skip=1).keys()
    for base in make.__mro__[: make.__mro__.index(Player)]:
        if base.__doc__ and spec.parameters_of(base, skip=1).keys() <= options:
            yield inspect.cleandoc(base.__doc__)
