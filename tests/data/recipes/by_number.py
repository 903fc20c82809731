"""A player that chooses by number: the lowest legal action, or the highest."""

from __future__ import annotations

from typing import Annotated

from playout.games import Game, Option, Position
from playout.players.core.player import Limit, Player, PlayResult, Report


class ByNumber(Player):
    """Plays the legal action with the lowest number."""

    def __init__(
        self,
        game: Game,
        highest: Annotated[bool, Option("whether to play the highest number instead")] = False,
    ) -> None:
        super().__init__(game)
        self._place = -1 if highest else 0

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        return PlayResult(position.legal_actions[self._place])

    def longest_s(self, limit: Limit) -> float | None:
        return 0.0
