"""Keeps one player for each game between matches."""

from __future__ import annotations

import gc
from collections.abc import Iterator

from playout import games, players
from playout.games.core import spec
from playout.players.core.player import Player


class PlayerCache:
    """Makes the player of a game when it is needed for the first time."""

    def __init__(self, wanted: spec.Spec) -> None:
        """Raises SpecError for an unknown player, or options that it does not have."""
        self.make = players.find(wanted.name)
        self._options = spec.bind(self.make, wanted, skip=1)
        self._wanted = wanted
        self._made: dict[str, Player] = {}

    def __call__(self, game: str) -> Player:
        """Return the player of this game. Raises SpecError.

        One player, such as a running engine, plays from all first positions of a game.
        """
        rules = games.load(game)
        name = str(games.usual(rules))
        if name not in self._made:
            self._made[name] = players.load(self._wanted, games.load(name))
            # Imported objects are never freed. A garbage collection that visits them stops the
            # player for 60 ms, and on a busy machine for 200 to 330 ms.
            gc.freeze()
        player = self._made[name]
        player.game = rules
        return player

    @property
    def threads(self) -> int:
        """The number of threads of a player: its option `threads`, or 1."""
        option = spec.parameters_of(self.make, skip=1).get("threads")
        threads = self._options.get("threads", option.default if option else None)
        return threads if isinstance(threads, int) else 1

    @property
    def version(self) -> str:
        """The name and version of an engine; empty for players of Playout."""
        return next((each.version for each in self._made.values() if each.version), "")

    def check(self) -> Iterator[str]:
        """Check the players made so far, and yield lines about them. Raises PlayerError."""
        yield f"threads: {self.threads}"
        if self.version:
            yield f"version: {self.version}"
        for player in self._made.values():
            yield from player.check()

    def close(self) -> None:
        """Release the resources of all players."""
        for player in self._made.values():
            player.close()
