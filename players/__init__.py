"""Those who play.

    import games, players
    game = games.load("connect_four")
    player = players.load("uct(c=1.2,seed=7)", game)
    choice = player.choose([game.initial_state()], players.Limit(seconds=0.1))

Each plain module of this package is a player; `players.core` says what a player is,
`players.mcts` is how the searching ones think, `players.client` connects them to a server.
Players from elsewhere are found through the entry point group `playout.players`.
"""

from __future__ import annotations

import sys

from games import Game, SpecError
from games.core import plugins, spec
from players.core.node import Node
from players.core.player import ActionStats, Cancelled, Info, Limit, Player, PlayResult, Resigned

__all__ = [
    "ActionStats",
    "Cancelled",
    "Info",
    "Limit",
    "Node",
    "PlayResult",
    "Player",
    "Resigned",
    "SpecError",
    "find",
    "load",
    "names",
]

_GROUP = "playout.players"


def names() -> list[str]:
    """Every player there is, those of others too."""
    return plugins.names(sys.modules[__name__], _GROUP)


def find(name: str) -> type[Player]:
    """The class of a player: built in, from an entry point, or `module:Class`. Raises SpecError."""
    if ":" in name:
        return plugins.find_class(Player, "player", name)
    return plugins.find(sys.modules[__name__], _GROUP, Player, "player", name)


def load(text: str | spec.Spec, game: Game) -> Player:
    """The player that `text` names, as in `uct(c=1.2,seed=7)`, for one game. Raises SpecError."""
    wanted = spec.parse(text) if isinstance(text, str) else text
    make = find(wanted.name)
    return plugins.create(make, game, **spec.bind(make, wanted, skip=1))
