"""Games without compiled kernels, and positions reached by named moves."""

from __future__ import annotations

from playout import games
from playout.games import Game, Position, State


def after(spec: str, moves: str) -> tuple[Game, State]:
    game = games.load(spec)
    state = Position.from_names(game, moves.split()).state
    return game, state


class Interpreted(Game):
    """A built-in game with its tuple methods only, like the game of a plugin."""

    def __init__(self, inner: Game) -> None:
        self.inner = inner
        self.num_actions, self.max_plies = inner.num_actions, inner.max_plies

    def initial_state(self) -> State:
        return self.inner.initial_state()

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return self.inner.legal_actions(state)

    def next_state(self, state: State, action: int) -> State:
        return self.inner.next_state(state, action)
