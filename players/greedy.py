"""A baseline: looks two plies ahead, and plays a few random playouts after each move."""

from __future__ import annotations

import secrets
from typing import Annotated

import numpy as np

from playout.games import Game, Option, Position, State
from playout.games.core.random import seeded
from playout.players.core.player import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    Player,
    PlayResult,
    Report,
    Seed,
)
from playout.players.core.rules import rules_of


class Greedy(Player):
    """Wins at once if possible, prevents an immediate loss, otherwise maximizes won playouts.

    It ignores all limits.
    """

    def __init__(
        self,
        game: Game,
        playouts: Annotated[int, Option("number of random playouts after each move", ge=1)] = 10,
        seed: Seed = None,
    ) -> None:
        super().__init__(game)
        self._playouts = playouts
        self._rules = rules_of(game)
        seed = secrets.randbits(64) if seed is None else seed
        self._rng, self._random = seeded(seed), np.random.default_rng(seed % 2**64)
        self._trace = np.empty(game.max_plies + 1, dtype=np.int64)

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        state = position.state
        if position.winner:
            raise ValueError("there is nothing to choose: the game is over")
        actions = self._random.permutation(position.legal_actions).tolist()
        values = {action: self._evaluate(state, action) for action in actions}
        best = max(actions, key=lambda action: values[action])
        stats = sorted(
            (ActionStats(a, self._playouts, values[a][1] * self._playouts) for a in actions),
            key=lambda each: (each.action != best, -each.wins),
        )
        info = Info(
            simulations=self._playouts * len(actions),
            win_rate=values[best][1],
            pv=(best,),
            actions=tuple(stats),
        )
        return PlayResult(best, info)

    def _evaluate(self, state: State, action: int) -> tuple[int, float]:
        """Return 1 for a win, -1 if the opponent can win at once, else 0; and mean points."""
        if self.cancelled.is_set():
            raise Cancelled
        me = state[0]
        after = self.game.next_state(state, action)
        if winner := self.game.winner(after):
            return (winner == me) - (winner == 3 - me), points(winner, me)
        lost = self.game.current_player(after) == 3 - me and any(
            self.game.winner(self.game.next_state(after, action)) == 3 - me
            for action in self.game.legal_actions(after)
        )
        won = sum(points(self._play_out(after), me) for _ in range(self._playouts))
        return -lost, won / self._playouts

    def _play_out(self, state: State) -> int:
        board = self._rules.board(state)
        self._rules.playout(board, self._rng, self._trace)
        return int(board[1])


def points(winner: int, player: int) -> float:
    """Return the points of a player: 1 for a win, 0.5 for a tie, 0 for a loss."""
    return 0.5 if winner < 1 else float(winner == player)
