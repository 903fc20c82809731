"""Playout: board games, players, and a server on which they meet.

    import playout
    game = playout.load("connect_four")
    player = playout.load_player("uct(c=1.2,seed=7)", game)
    position = playout.Position(game)
    result = player.choose(position, playout.Limit(seconds=0.1))
    print(game.show(position.play(result.action).state))

The names below are what authors of bots and games need. `playout.games` and `playout.players` have
more. A name is imported when it is first used: the package itself imports nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playout.games import (
        TIE,
        BoardView,
        Game,
        IllegalAction,
        KernelGame,
        Position,
        SpecError,
        State,
        load,
    )
    from playout.players import Limit, Player, PlayerError, PlayResult
    from playout.players import load as load_player

__all__ = [
    "TIE",
    "BoardView",
    "Game",
    "IllegalAction",
    "KernelGame",
    "Limit",
    "PlayResult",
    "Player",
    "PlayerError",
    "Position",
    "SpecError",
    "State",
    "load",
    "load_player",
]

_IN_PLAYERS = {
    "Limit": "Limit",
    "PlayResult": "PlayResult",
    "Player": "Player",
    "PlayerError": "PlayerError",
    "load_player": "load",
}


def __getattr__(name: str) -> object:
    """Import a name of `__all__` from `playout.players` or `playout.games`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{'players' if name in _IN_PLAYERS else 'games'}")
    value: object = getattr(module, _IN_PLAYERS.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
