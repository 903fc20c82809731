"""A short look ahead from a position: forced wins, and the mean result of random playouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from games.core.game import RETURNS, TIE, Game, KernelGame, State
from games.core.kernels import SIGNATURES, Board, Vector, compiled
from games.core.random import Rng, draw

_VECTOR, _TABLE, _RNG = types.int64[::1], types.int64[:, ::1], types.uint64[::1]
_LEGAL, _PLAY, _PLAYOUT = (
    types.FunctionType(SIGNATURES[name]) for name in ("legal", "play", "playout")
)


def wins_within(game: Game, state: State, player: int, plies: int) -> bool:
    """Return whether `player` can force a win within `plies` plies."""
    if not isinstance(game, KernelGame):
        return _wins_slowly(game, state, player, plies)
    board = game.board(state)
    boards = np.empty((plies + 1, len(board)), dtype=np.int64)
    boards[0] = board
    actions = np.empty((plies + 1, game.num_actions + 1), dtype=np.int64)
    untried = np.empty(plies + 1, dtype=np.int64)
    kernels = game.kernels
    return bool(_wins(boards, actions, untried, player, kernels.legal, kernels.play))


def mean_return(game: Game, state: State, rng: Rng, playouts: int) -> float:
    """Return the mean points of player 1 over random playouts: 1 a win, 0.5 a tie, 0 a loss."""
    if not isinstance(game, KernelGame):
        return sum(_random_return(game, state, rng) for _ in range(playouts)) / playouts
    board, trace = game.board(state), np.empty(game.max_plies, dtype=np.int64)
    points = _points(board, board.copy(), rng, trace, game.kernels.playout, playouts)
    return int(points) / 2 / playouts


@compiled(types.boolean(_TABLE, _TABLE, _VECTOR, types.int64, _LEGAL, _PLAY))
def _wins(
    boards: NDArray[np.int64],
    actions: NDArray[np.int64],
    untried: Vector,
    player: int,
    legal: Callable[..., int],
    play: Callable[..., None],
) -> bool:
    """Search from `boards[0]`; `boards` has one row more than plies, as working memory."""
    depth, last = 0, len(boards) - 1
    down = True
    wins = False
    while True:
        board = boards[depth]
        if down and board[1] == 0 and depth < last:
            untried[depth] = legal(board, actions[depth])
        elif down:
            wins = board[1] == player
            untried[depth] = 0
        elif wins == (board[0] == player):  # the result that the player to move wants
            untried[depth] = 0
        if untried[depth] > 0:
            untried[depth] -= 1
            boards[depth + 1, :] = board
            depth += 1
            play(boards[depth], actions[depth - 1, untried[depth - 1]])
            down = True
        elif depth == 0:
            return wins
        else:
            depth -= 1
            down = False


@compiled(types.int64(_VECTOR, _VECTOR, _RNG, _VECTOR, _PLAYOUT, types.int64))
def _points(
    start: Board, board: Board, rng: Rng, trace: Vector, playout: Callable[..., int], playouts: int
) -> int:
    """Return the half points of player 1: two for a win, one for a tie."""
    points = 0
    for _ in range(playouts):
        board[:] = start
        playout(board, rng, trace)
        if board[1] == 1:
            points += 2
        elif board[1] == TIE:
            points += 1
    return points


def _wins_slowly(game: Game, state: State, player: int, plies: int) -> bool:
    if plies == 0 or game.winner(state):
        return game.winner(state) == player
    after = (
        _wins_slowly(game, game.next_state(state, action), player, plies - 1)
        for action in game.legal_actions(state)
    )
    return any(after) if game.current_player(state) == player else all(after)


def _random_return(game: Game, state: State, rng: Rng) -> Any:
    while actions := game.legal_actions(state):
        state = game.next_state(state, actions[draw(rng, len(actions))])
    return RETURNS[game.winner(state)][0]
