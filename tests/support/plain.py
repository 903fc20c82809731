"""Games without their kernels, as games in plain Python are."""

from __future__ import annotations

from playout.games import BoardView, Game, State, Vector


class Plain(Game):
    """A game without its kernels, through its tuple interface."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.num_actions, self.max_plies = game.num_actions, game.max_plies
        self.action_cells = game.action_cells  # some are too rare to be seen
        self.falls = game.falls

    def initial_state(self) -> State:
        return self._game.initial_state()

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return self._game.legal_actions(state)

    def next_state(self, state: State, action: int) -> State:
        return self._game.next_state(state, action)

    def view(self, state: State) -> BoardView:
        return self._game.view(state)

    def observed(self, state: State) -> Vector:
        return self._game.observed(state)
