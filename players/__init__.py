"""Players: programs that choose actions, loaded by name.

    from playout import games, players
    game = games.load("connect_four")
    player = players.load("uct(c=1.2,seed=7)", game)
    choice = player.choose(games.Position(game), players.Limit(seconds=0.1))

Each plain module of this package is a player. `playout.players.core` defines the interface of a
player, `playout.players.mcts` and `playout.players.depth_first` are the searches,
`playout.players.client` connects players to a server. Players of other packages are found through
the entry point group `playout.players`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from playout.commands.interrupts import exit_as
from playout.games import Game, Option, SpecError
from playout.games.core import plugins, spec
from playout.players.core.player import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    MatchClock,
    MatchRequest,
    MatchRequested,
    Node,
    Player,
    PlayerError,
    PlayResult,
    Report,
    Reporter,
    Resigned,
    TimeLeft,
)

__all__ = [
    "ActionStats",
    "Cancelled",
    "IncompletePlayer",
    "Info",
    "Limit",
    "MatchClock",
    "MatchRequest",
    "MatchRequested",
    "Node",
    "Option",
    "PlayResult",
    "Player",
    "PlayerError",
    "Report",
    "Reporter",
    "Resigned",
    "SpecError",
    "TimeLeft",
    "find",
    "load",
    "names",
]

_GROUP = "playout.players"


def names() -> list[str]:
    """Return the names of all players, including those of other packages, sorted."""
    return plugins.names(sys.modules[__name__], _GROUP)


def find(name: str) -> type[Player]:
    """Return the class of a player: built in, of an entry point, or `module:Class`.

    Raises SpecError for an unknown name.
    """
    if name not in names():
        with contextlib.suppress(OSError):  # a name that no file can have
            if hint := plugins.file_hint("player", "Player", name, Path.cwd()):
                raise hint
    with exit_as(lambda why: SpecError(f"the player {name!r} cannot be loaded: {why}")):
        if ":" in name:
            return _find_class(name)
        return plugins.find(sys.modules[__name__], _GROUP, Player, "player", name)


def _find_class(name: str) -> type[Player]:
    """Return the class `module:Class`. Raises SpecError, with the folders without its module."""
    try:
        return plugins.find_class(Player, "player", name)
    except SpecError as error:
        module, missing = name.partition(":")[0], error.__cause__
        if not (
            isinstance(missing, ModuleNotFoundError) and f"{module}.".startswith(f"{missing.name}.")
        ):
            raise
        places = [Path.cwd(), *map(Path, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        searched = {Path(each).resolve() for each in sys.path}
        folders = dict.fromkeys(
            str(each.resolve()) for each in places if each.resolve() in searched
        )
        looked = ", ".join([*folders, "the installed packages"])
        raise SpecError(f"{error}; modules are looked for in: {looked}") from missing


class IncompletePlayer(SpecError):
    """Raised for a player whose `__init__` does not call that of `Player`."""


def load(text: str | spec.Spec, game: Game) -> Player:
    """Return a new player of `game`, specified as in `uct(c=1.2,seed=7)`.

    Raises SpecError, and IncompletePlayer.
    """
    wanted = spec.parse(text) if isinstance(text, str) else text
    make = find(wanted.name)
    with exit_as(lambda why: SpecError(f"{make.__name__} cannot be created for {game}: {why}")):
        player = plugins.create(make, game, **spec.bind(make, wanted, skip=1))
    if not (hasattr(player, "game") and hasattr(player, "cancelled")):
        raise IncompletePlayer(
            f"{make.__name__}.__init__ does not call that of Player: begin it with "
            "super().__init__(game)"
        )
    return player
