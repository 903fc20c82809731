"""Games: their rules, loaded by name.

    import games
    game = games.load("mnk(m=8,n=8,k=5)")
    state = game.initial_state()
    state = game.next_state(state, game.legal_actions(state)[0])
    print(game.show(state))

Each plain module of this package is a game; `games.core` holds the base classes and the compiler.
Games of other packages are found through the entry point group `playout.games`.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Mapping

from games.core import plugins, spec
from games.core.compilation_cache import announce_compilation
from games.core.description import Description, described
from games.core.game import (
    RETURNS,
    TIE,
    Game,
    IllegalAction,
    KernelGame,
    State,
    checked,
    square_name,
)
from games.core.kernels import Board, Kernels, Vector, helper, kernel
from games.core.spec import SpecError
from games.core.symmetries import Symmetry
from games.core.view import BoardView

__all__ = [
    "RETURNS",
    "TIE",
    "Board",
    "BoardView",
    "Description",
    "Game",
    "IllegalAction",
    "KernelGame",
    "Kernels",
    "SpecError",
    "State",
    "Symmetry",
    "Vector",
    "announce_compilation",
    "checked",
    "describe",
    "helper",
    "kernel",
    "load",
    "names",
    "square_name",
]

_GROUP = "playout.games"


def names() -> list[str]:
    """Return the names of all games, including those of other packages, sorted.

    Games whose optional packages are not installed are left out; `load` says what is missing.
    """
    found = plugins.names(sys.modules[__name__], _GROUP)
    return [name for name in found if name not in _NEEDS or _NEEDS[name]()]


@functools.cache
def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


#: Games that need packages which are not installed by default: whether they are.
_NEEDS: Mapping[str, Callable[[], bool]] = {
    "open_spiel": lambda: _is_installed("pyspiel"),
    "original": lambda: bool(plugins.outside(plugins.ORIGINAL_BOARDS)),
}


@functools.lru_cache(maxsize=256)
def load(text: str) -> Game:
    """Return the game that `text` names, as in `othello(size=6)`. Raises SpecError."""
    wanted = spec.parse(text)
    make = _class_of(wanted.name)
    arguments = spec.bind(make, wanted)
    game = plugins.create(make, **arguments)
    chosen = {key: value for key, value in arguments.items() if value != game.defaults.get(key)}
    game.spec = spec.canonical(wanted.name, make, chosen)
    return game


@functools.lru_cache(maxsize=256)
def describe(name: str) -> Description:
    """Return the description of the game of that name, for people. Raises SpecError."""
    return described(name, _class_of(name))


def _class_of(name: str) -> type[Game]:
    return plugins.find(sys.modules[__name__], _GROUP, Game, "game", name)
