"""Tesauro's public evaluation of backgammon (1993), as a player: `testbed.pubeval:Pubeval`.

The value of a position after a move is a sum of weights for the checkers on each point, on the
opponent's bar and borne off; races have weights of their own. Program and weights were published in
rec.games.backgammon, in the public domain; it "makes lots of obvious mistakes, but provides a
decent level of play for benchmarking purposes".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from playout.games import Game, Position, SpecError, State
from playout.games.backgammon import CHECKERS, Backgammon
from playout.players import Limit, Player, PlayResult, Report

FILE = Path(__file__).parents[2] / "tests" / "data" / "pubeval.txt"
#: The weights of contact positions, then those of races: five for each point, from the 24-point to
#: the 1-point, then of the opponent's checkers on the bar and of those borne off.
CONTACT, RACE = np.loadtxt(FILE)
#: Where a state has the points, the two bars and the two numbers of checkers borne off.
_POINTS, _BARS, _OFF = 6, 30, 32


class Pubeval(Player):
    """Plays the move with the greatest value after it; both halves of a double are one move."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        if not isinstance(game, Backgammon):
            raise SpecError(f"pubeval plays backgammon only, not {game}")

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        """Return the first action of the best move."""
        player, state = position.to_move, position.state
        weights = RACE if is_race(state) else CONTACT
        best = max(self._moves(player, state), key=lambda each: value_of(player, each[1], weights))
        return PlayResult(best[0])

    def _moves(self, player: int, state: State) -> Iterator[tuple[int, State]]:
        """Yield each legal action with the positions to which the move can lead."""
        for action in self.game.legal_actions(state):
            after = self.game.next_state(state, action)
            if self.game.current_player(after) == player and not self.game.winner(after):
                yield from ((action, last) for _, last in self._moves(player, after))
            else:
                yield action, after


def points_of(player: int, state: State) -> list[int]:
    """Return the checkers on the points of a player, from the 24-point on; negative ones are the
    opponent's.
    """
    points = state[_POINTS:_BARS]
    return [*points] if player == 1 else [-each for each in reversed(points)]


def is_race(state: State) -> bool:
    """Return whether all checkers of both players have passed each other."""
    points = points_of(1, state)
    own = [place for place, checkers in enumerate(points) if checkers > 0]
    other = [place for place, checkers in enumerate(points) if checkers < 0]
    return not any(state[_BARS:_OFF]) and (not own or not other or min(own) > max(other))


def value_of(player: int, state: State, weights: np.ndarray) -> float:
    """Return the value of a position for the player who has moved."""
    if state[_OFF + player - 1] == CHECKERS:
        return float("inf")
    found = list[float]()
    for n in points_of(player, state):
        found += [n == -1, n == 1, n >= 2, n == 3, (n - 3) / 2 if n >= 4 else 0]
    found += [state[_BARS + 2 - player] / 2, state[_OFF + player - 1] / CHECKERS]
    return float(np.dot(weights, found))
