"""Who wins a position with best play, as far as minimax can prove it in a moment."""

from __future__ import annotations

from msgspec import Struct

import games
from games import TIE, Game
from players.core.player import Limit
from players.minimax import Minimax

#: Of a search's table: more cannot be filled in a moment.
_MEMORY_MB = 16


class MatchPosition(Struct, frozen=True):
    """A match as far as it has come: the game as it is spelled, and all actions."""

    match: str
    game: str
    actions: tuple[int, ...]


class Proof(Struct, frozen=True):
    """After `ply` actions, `winner` wins with best play: 1, 2, -1 for a tie; None: not proven."""

    match: str
    ply: int
    winner: int | None


class ProofFailure(Struct, frozen=True):
    """Nothing can be said of a position, or of what should have been one."""

    match: str | None
    error: str


class Solver:
    """Keeps what it needs for each game from one position to the next."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: for each position."""
        self._limit = Limit(seconds=seconds)
        self._searches: dict[str, tuple[Game, Minimax]] = {}

    def solve(self, position: MatchPosition) -> Proof | ProofFailure:
        """What is proven of it."""
        try:
            winner = self._winner(position)
        except Exception as error:  # games may be anybody's
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
