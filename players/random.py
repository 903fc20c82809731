"""A random player: every legal action is equally likely."""

from __future__ import annotations

import random
from collections.abc import Sequence

from playout.games import Game, State
from playout.players.core.options import Seed
from playout.players.core.player import Limit, Player, PlayResult


class Random(Player):
    """Plays a random legal action."""

    def __init__(self, game: Game, seed: Seed = None) -> None:
        super().__init__(game)
        self._random = random.Random(seed)

    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        return PlayResult(self._random.choice(self.game.legal_actions(states[-1])))

    def longest_s(self, limit: Limit) -> float | None:
        return 0.0
