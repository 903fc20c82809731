"""Games: their rules, loaded by name.

    from playout import games
    game = games.load("mnk(m=8,n=8,k=5)")
    state = game.initial_state()
    state = game.next_state(state, game.legal_actions(state)[0])
    print(game.show(state))

Each plain module of this package is a game; `playout.games.core` holds the base classes and the
compiler. Other packages add games through the entry point group `playout.games`, and `register`
adds those of the user's own files.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping

from playout.games.core import plugins, spec
from playout.games.core.compilation_cache import announce_compilation
from playout.games.core.description import (
    OTHERS,
    Description,
    by_group,
    described,
    title_of,
    with_parameters,
)
from playout.games.core.game import (
    GROUPS,
    RETURNS,
    TIE,
    Game,
    IllegalAction,
    KernelGame,
    State,
    square_name,
)
from playout.games.core.grid import GridGame
from playout.games.core.kernels import Board, Kernels, Vector, helper, kernel
from playout.games.core.position import Position
from playout.games.core.spec import Option, SpecError
from playout.games.core.symmetries import Symmetry
from playout.games.core.view import BoardView

__all__ = [
    "GROUPS",
    "OTHERS",
    "RETURNS",
    "TIE",
    "Board",
    "BoardView",
    "Description",
    "Game",
    "GridGame",
    "IllegalAction",
    "KernelGame",
    "Kernels",
    "NotReady",
    "Option",
    "Position",
    "SpecError",
    "State",
    "Symmetry",
    "Vector",
    "announce_compilation",
    "beginning_at",
    "by_group",
    "check_before_loading",
    "describe",
    "helper",
    "kernel",
    "load",
    "load_class",
    "names",
    "register",
    "square_name",
    "title",
    "usual",
]

_GROUP = "playout.games"


class NotReady(Exception):
    """A game cannot be loaded yet, because another process compiles it; the text says how long.

    `text` is called for each `str`, so that it is true later, too.
    """

    def __init__(self, game: str, text: Callable[[], str]) -> None:
        super().__init__(game)
        self.game = game
        self._text = text

    def __str__(self) -> str:
        return self._text()


#: Called with the name of each game that is loaded or described for the first time.
_checks: list[Callable[[str], object]] = []


def check_before_loading(check: Callable[[str], object]) -> None:
    """Call `check` with the name of a game before this process loads it; it may raise NotReady."""
    _checks[:] = [check]


def names() -> list[str]:
    """Return the names of all games, sorted: built in, of other packages, and registered.

    Games whose optional packages are not installed are left out; `load` names the missing package.
    """
    return [name for name in _all_names() if name not in _NEEDS or _NEEDS[name]()]


def _all_names() -> list[str]:
    return sorted({*_installed(), *plugins.registered()})


def _installed() -> list[str]:
    return plugins.names(sys.modules[__name__], _GROUP)


def register(text: str, folder: str = "") -> str:
    """Register the game that `module:Class` names, and return the specification with its name.

    `my_game:Chomp(rows=4)` is imported from `folder`, by default the current one, or from the path
    of imports. From then on, its name is `chomp(rows=4)`, in this process and in those that it
    starts. A text without a colon is returned unchanged. Raises SpecError.

    Call it only with a text that the user of this process has typed, because it imports a module.
    """
    if not plugins.is_target(text):
        return text
    wanted = spec.parse(text)
    found = plugins.OwnGame(wanted.name, os.path.abspath(folder))
    make = plugins.load_class(found)
    name = plugins.name_of(make)
    if plugins.registered().get(name, found).target != found.target or name in _installed():
        raise SpecError(f"the game {wanted.name!r} cannot be called {name!r}: another game is")
    plugins.add(name, found)
    given = text.strip()[len(wanted.name) :].strip()
    load(f"{name}{given}" if given else described(name, make).example)
    return f"{name}{given}"


@functools.cache
def _has_open_spiel() -> bool:
    return importlib.util.find_spec("pyspiel") is not None


#: For each game that needs optional packages, whether they are installed.
_NEEDS: Mapping[str, Callable[[], bool]] = {
    "open_spiel": _has_open_spiel,
    "original": lambda: bool(plugins.outside(plugins.ORIGINAL_BOARDS)),
}


@functools.lru_cache(maxsize=256)
def load(text: str) -> Game:
    """Return the game that `text` names, as in `othello(size=6)`. Raises SpecError."""
    wanted = spec.parse(text)
    make = _checked_class_of(wanted.name)
    arguments = spec.bind(make, wanted)
    game = plugins.create(make, **arguments)
    chosen = {key: value for key, value in arguments.items() if value != game.defaults.get(key)}
    game.spec = spec.canonical(wanted.name, make, {**chosen, **game.canonical})
    game.loaded_by = load
    game.family = game.family or plugins.family_of(make)
    return game


def beginning_at(game: Game, fen: str) -> Game:
    """Return a game with another first position, by its parameter `fen`; "" is the usual one.

    A semicolon replaces each comma, which separates parameters.

    Raises SpecError if the game has no such parameter, and for a position that it refuses.
    """
    wanted = spec.parse(str(game))
    if "fen" not in spec.parameters_of(type(game)):
        raise SpecError(f"{game} begins with no other position: write the moves that lead to it")
    options = {key: value for key, value in wanted.options.items() if key != "fen"}
    given = {"fen": fen.replace(",", ";")} if fen else {}
    return load(str(spec.Spec(wanted.name, options | given)))


def usual(game: Game) -> Game:
    """Return the game of the same rules that begins with its usual position."""
    return beginning_at(game, "") if "fen" in spec.parse(str(game)).options else game


@functools.lru_cache(maxsize=256)
def describe(name: str) -> Description:
    """Return the description of the game of that name, for people. Raises SpecError."""
    return described(name, _checked_class_of(name))


def load_class(name: str) -> None:
    """Import a game, which compiles it if no cache has it, without a check. Raises SpecError."""
    _class_of(name)


def _checked_class_of(name: str) -> type[Game]:
    for check in _checks:
        check(name)
    return _class_of(name)


def title(text: str) -> str:
    """Return what people call the game of a specification, as in "Go (size 9)".

    A game that is not installed any more, or not ready yet, has its name in words.
    """
    wanted = spec.parse(text)
    try:
        known = describe(wanted.name).title
    except (SpecError, NotReady):
        known = title_of(wanted.name)
    return with_parameters(known, wanted.options)


def _class_of(name: str) -> type[Game]:
    if name not in _all_names():
        raise spec.unknown("game", name, _all_names())
    if own := plugins.registered().get(name):
        return plugins.load_class(own)
    return plugins.find(sys.modules[__name__], _GROUP, Game, "game", name)
