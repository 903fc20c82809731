"""A random player: every legal action is equally likely."""

from __future__ import annotations

import random

from playout.games import Game, Position
from playout.players.core.player import Limit, Player, PlayResult, Report, Seed


class Random(Player):
    """Plays a random legal action."""

    def __init__(self, game: Game, seed: Seed = None) -> None:
        super().__init__(game)
        self._random = random.Random(seed)

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        return PlayResult(self._random.choice(position.legal_actions))

    def longest_s(self, limit: Limit) -> float | None:
        return 0.0
