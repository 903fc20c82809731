"""Generates openings: random moves after which the winner is not clear.

A short look ahead finds positions that are as good as decided: it searches forced wins, and takes
the mean result of random playouts. Both are compiled when this module is imported.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games.core.game import RETURNS, TIE, Game, KernelGame, State
from playout.games.core.kernels import SIGNATURES, Board, Vector, compiled
from playout.games.core.random import Rng, draw, seeded
from playout.ratings.pairs import Opening, OpeningError, central_cells

_VECTOR, _TABLE, _RNG = types.int64[::1], types.int64[:, ::1], types.uint64[::1]
_LEGAL, _PLAY, _PLAYOUT = (
    types.FunctionType(SIGNATURES[name]) for name in ("legal", "play", "playout")
)

T = TypeVar("T")

#: The number of random playouts from an opening, and the bounds of the first player's share.
PLAYOUTS: Final = 256
BOUNDS: Final = (0.35, 0.65)

#: With this many actions or fewer, wins are searched four plies ahead; with more, two.
FEW_ACTIONS: Final = 32

#: The number of moves between two steps of `attempts`.
STEP: Final = 32

#: After this many unsuitable openings in a row, the generator stops.
PATIENCE: Final = 2000


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
        if game.current_player(state) == 0:
            action = game.roll(state, functools.partial(draw, rng))
        else:
            action = actions[draw(rng, len(actions))]
        state = game.next_state(state, action)
    return RETURNS[game.winner(state)][0]


def attempts(game: Game, plies: int, seed: int, near: int = 0) -> Iterator[Opening | None]:
    """Yield openings of `plies` random legal moves, with those of nature, until all are used.

    No two lead to the same position, and after none the winner is clear (`is_open`). With 0 plies
    there is one opening, without moves. Moves are at most `near` cells from the centre; 0 is no
    limit. None is yielded after each step of a few milliseconds. Raises OpeningError if no opening
    exists.
    """
    if plies == 0:
        yield ()
        return
    found = unsuitable = 0
    for line in lines(game, plies, near, seeded(seed)):
        yield None
        if line is None:
            continue
        opening, state = line
        if len(opening) == plies and is_open(game, state, seed):
            unsuitable = 0
            found += 1
            yield opening
        elif (unsuitable := unsuitable + 1) == PATIENCE:
            break
    if not found:
        where = f" at most {near} cells from the centre" if near else ""
        raise OpeningError(
            f"{game}: after {plies} random plies{where} the winner is always clear, or the match "
            "is over; use fewer, or a file"
        )


def shuffled(openings: Sequence[T], seed: int) -> Iterator[T]:
    """Yield all openings, in an order by the seed."""
    rest, rng = list(openings), seeded(seed)
    while rest:
        yield rest.pop(draw(rng, len(rest)))


def lines(game: Game, plies: int, near: int, rng: Rng) -> Iterator[tuple[Opening, State] | None]:
    """Yield random legal moves and their final positions, each position once, until all are used.

    A line is shorter if the match has ended. None stands for STEP moves of a longer line, and for a
    line without an unused completion.
    """
    exhausted: set[tuple[int, State]] = set()
    while (0, game.initial_state()) not in exhausted:
        line: list[int] = []
        state = game.initial_state()
        while len(line) < plies and (step := _step(game, len(line), state, near, exhausted, rng)):
            action, state = step
            line.append(action)
            if len(line) % STEP == 0:
                yield None
        exhausted.add((len(line), state))
        yield (tuple(line), state) if len(line) == plies or game.winner(state) else None


def _step(
    game: Game, ply: int, state: State, near: int, exhausted: set[tuple[int, State]], rng: Rng
) -> tuple[int, State] | None:
    """Return a random move to a position that is not exhausted, and it; None if all are."""
    for action in _in_random_order(game, state, near, rng):
        after = game.next_state(state, action)
        if (ply + 1, after) not in exhausted:
            return action, after
    return None


def _in_random_order(game: Game, state: State, near: int, rng: Rng) -> Iterator[int]:
    """Yield the actions to choose from, outcomes of nature by their weights."""
    if game.current_player(state) == 0:
        weights = dict(zip(game.legal_actions(state), game.chances(state), strict=True))
        while weights:
            drawn = draw(rng, sum(weights.values()))
            ends = itertools.accumulate(weights.values())
            outcome = next(o for o, end in zip(weights, ends, strict=True) if drawn < end)
            del weights[outcome]
            yield outcome
        return
    actions = _central_actions(game, state, near) if near else list(game.legal_actions(state))
    while actions:
        yield actions.pop(draw(rng, len(actions)))


def _central_actions(game: Game, state: State, near: int) -> list[int]:
    """Return the legal actions that are a click near the centre."""
    view = game.view(state)
    centre = central_cells(view, near)
    return [
        action for action, clicks in view.clicks.items() if clicks and centre.issuperset(clicks)
    ]


def is_open(game: Game, state: State, seed: int) -> bool:
    """Return whether the match is neither over at a position nor as good as decided.

    It counts as decided if a player can force a win within a few plies, or if the first player's
    share of the points of random playouts is outside BOUNDS.

    Of 80 and 120 positions of Connect Four after 4 and 8 random plies this keeps 63 and 81. A
    search of 20,000 simulations saw a win in none of these, and in 2 of them fewer than 20 % or
    more than 80 % for one side; in those discarded it saw 25 wins. With bounds of 0.2 and 0.8, and
    two plies instead of four, it saw 11 wins in 185 kept. Of gomoku, mnk(8,8,5), Othello and
    ultimate tic-tac-toe, 95 % to 100 % are kept after up to 8 plies; of 138 of the last three, none
    was lopsided. Of tic-tac-toe 46 % are kept after 2 plies and 51 % after 3; with best play, 19 of
    41 of these are lost. Each position of Nim is won by one of the two.
    """
    plies = 4 if len(game.legal_actions(state)) <= FEW_ACTIONS else 2
    if game.winner(state) or any(wins_within(game, state, player, plies) for player in (1, 2)):
        return False
    low, high = BOUNDS
    return low <= _share(game, state, seed) <= high


def _share(game: Game, state: State, seed: int) -> float:
    """Return the first player's share of the points of random playouts."""
    digest = hashlib.sha256(repr((seed, state)).encode()).digest()
    rng = seeded(int.from_bytes(digest[:8], "big"))
    return mean_return(game, state, rng, PLAYOUTS)
