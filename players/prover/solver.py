"""The winner of a position with best play, if minimax can prove it in a short time."""

from __future__ import annotations

from msgspec import Struct

import games
from games import TIE, Game
from players.core.player import Limit
from players.minimax import Minimax

#: Size of the transposition table; a short search cannot fill more.
_MEMORY_MB = 16


class MatchPosition(Struct, frozen=True):
    """The position of a match: the specification of the game, and all actions so far."""

    match: str
    game: str
    actions: tuple[int, ...]


class Proof(Struct, frozen=True):
    """The proven winner after `ply` actions: 1, 2, -1 for a tie; None if not proven."""

    match: str
    ply: int
    winner: int | None


class ProofFailure(Struct, frozen=True):
    """The answer for an invalid position, or for a line that is no position."""

    match: str | None
    error: str


class Solver:
    """Solves positions; it keeps a search for each game."""

    def __init__(self, seconds: float) -> None:
        """Take the time limit for each position, in seconds."""
        self._limit = Limit(seconds=seconds)
        self._searches: dict[str, tuple[Game, Minimax]] = {}

    def solve(self, position: MatchPosition) -> Proof | ProofFailure:
        """Return the proven winner of a position, or the reason why it cannot be searched."""
        try:
            winner = self._winner(position)
        except Exception as error:  # the game may be a plugin
            return ProofFailure(position.match, str(error) or repr(error))
        return Proof(position.match, len(position.actions), winner)

    def _winner(self, position: MatchPosition) -> int | None:
        game, search = self._search(position.game)
        state = game.initial_state()
        for action in position.actions:
            state = game.next_state(state, action)
        if over := game.winner(state):
            return over
        info = search.choose([state], self._limit).info
        if info is None or info.proven is None:
            return None
        mover = game.current_player(state)
        return {1: mover, 0: TIE, -1: 3 - mover}[info.proven]

    def _search(self, spelled: str) -> tuple[Game, Minimax]:
        if spelled not in self._searches:
            game = games.load(spelled)
            self._searches[spelled] = game, Minimax(game, memory_mb=_MEMORY_MB)
        return self._searches[spelled]
