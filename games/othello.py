"""Othello. Actions are the cells, row by row, and size² is a pass, as in OpenSpiel.

The game ends when neither player can move. With passes=false it ends as soon as the player to move
cannot, an older rule. The player with more discs wins.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from games import (
    Board,
    BoardView,
    KernelGame,
    Kernels,
    SpecError,
    State,
    Symmetry,
    Vector,
    helper,
    kernel,
    square_name,
)
from games.core.random import GAMMA, Rng, below
from games.core.symmetries import of_placements

# board: player, outcome, discs of player 1, discs of player 2, size, passes, the cells in play.
# Discs are the bits of a word, eight per row for every size: cell (row, column) is bit
# 8 * row + column. Words are stored as int64 and processed as uint64.
_SIZE, _PASSES, _CELLS = 4, 5, 6

_0, _1 = np.uint64(0), np.uint64(1)
#: The step in each direction, and the cells that a line may cross without leaving its row.
_STEPS = tuple(np.uint64(step) for step in (1, 8, 7, 9))
_INNER = np.uint64(0x7E7E7E7E7E7E7E7E)


@helper
def run_up(begin: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the `crossed` discs that follow `begin` without a gap, towards the higher bits.

    Parallel prefix: the first two lines find runs of two; each later line adds two more.
    """
    run = crossed & begin << step
    run |= crossed & run << step
    pairs = crossed & crossed << step
    run |= pairs & run << (step + step)
    run |= pairs & run << (step + step)
    return run


@helper
def run_down(begin: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return what `run_up` returns, but towards the lower bits."""
    run = crossed & begin >> step
    run |= crossed & run >> step
    pairs = crossed & crossed >> step
    run |= pairs & run >> (step + step)
    run |= pairs & run >> (step + step)
    return run


@helper
def line_moves(own: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the cells at the end of a run of `crossed` next to `own`, in both directions."""
    return run_up(own, crossed, step) << step | run_down(own, crossed, step) >> step


@helper
def mobility(own: np.uint64, other: np.uint64, cells: np.uint64) -> np.uint64:
    """Return the cells where `own` may put a disc."""
    inner = other & _INNER
    moves = line_moves(own, inner, _STEPS[0])
    moves |= line_moves(own, other, _STEPS[1])
    moves |= line_moves(own, inner, _STEPS[2])
    moves |= line_moves(own, inner, _STEPS[3])
    return moves & cells & ~(own | other)


@helper
def line_flips(disc: np.uint64, own: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the discs between `disc` and the nearest of `own`, both ways along `step`."""
    up = run_up(disc, crossed, step)
    down = run_down(disc, crossed, step)
    if up << step & own == _0:
        up = _0
    if down >> step & own == _0:
        down = _0
    return up | down


@helper
def flips(disc: np.uint64, own: np.uint64, other: np.uint64) -> np.uint64:
    """Return the discs that change sides when `own` puts `disc`."""
    inner = other & _INNER
    return (
        line_flips(disc, own, inner, _STEPS[0])
        | line_flips(disc, own, other, _STEPS[1])
        | line_flips(disc, own, inner, _STEPS[2])
        | line_flips(disc, own, inner, _STEPS[3])
    )


@helper
def count(discs: np.uint64) -> int:
    """Return how many bits are set."""
    n = 0
    while discs:
        discs &= discs - _1
        n += 1
    return n


@helper
def majority(first: np.uint64, second: np.uint64) -> int:
    """Return the outcome of a finished game: 1, 2, or -1 for a tie."""
    difference = count(first) - count(second)
    if difference == 0:
        return -1
    return 1 if difference > 0 else 2


@helper
def bit_of(action: int, size: int) -> np.uint64:
    """Return the word with only the bit of a cell set."""
    if size != 8:
        action = action // size * 8 + action % size
    return _1 << np.uint64(action)


@helper
def set_outcome(board: Board) -> None:
    """Set the outcome of a board if the game is over."""
    own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
    cells = np.uint64(board[_CELLS])
    if mobility(own, other, cells):
        return
    if not board[_PASSES] or not mobility(other, own, cells):
        board[1] = majority(np.uint64(board[2]), np.uint64(board[3]))


@kernel
def start(board: Board, params: Vector) -> None:
    size = params[0]
    board[0] = 1
    board[1] = 0
    board[_SIZE] = size
    board[_PASSES] = params[1]
    cells = _0
    for row in range(size):
        for column in range(size):
            cells |= _1 << np.uint64(8 * row + column)
    board[_CELLS] = np.int64(cells)
    low = size // 2 - 1
    board[2] = 1 << (8 * low + low + 1) | 1 << (8 * (low + 1) + low)
    board[3] = 1 << (8 * low + low) | 1 << (8 * (low + 1) + low + 1)


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    size = board[_SIZE]
    own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
    moves = mobility(own, other, np.uint64(board[_CELLS]))
    n = 0
    while moves:
        bit = np.int64(trailing_zeros(moves))
        moves &= moves - _1
        actions[n] = (bit >> 3) * size + (bit & 7)
        n += 1
    if n == 0:
        actions[0] = size * size
        n = 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    size = board[_SIZE]
    board[0] = 3 - player
    if action == size * size:
        return
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    disc = bit_of(action, size)
    turned = flips(disc, own, other)
    board[1 + player] = np.int64(own | disc | turned)
    board[4 - player] = np.int64(other & ~turned)
    set_outcome(board)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, size = board[0], board[_SIZE]
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    cells = np.uint64(board[_CELLS])
    state = rng[0]
    ply = 0
    moves = mobility(own, other, cells)
    while True:
        if moves:
            state += GAMMA
            for _ in range(below(state, count(moves))):
                moves &= moves - _1
            bit = np.int64(trailing_zeros(moves))
            disc = moves & (_0 - moves)
            trace[ply] = (bit >> 3) * size + (bit & 7)
            turned = flips(disc, own, other)
            own |= disc | turned
            other &= ~turned
        else:
            trace[ply] = size * size
        ply += 1
        own, other = other, own
        player = 3 - player
        moves = mobility(own, other, cells)
        if not moves and (not board[_PASSES] or not mobility(other, own, cells)):
            break
    rng[0] = state
    board[0] = player
    board[1 + player], board[4 - player] = np.int64(own), np.int64(other)
    board[1] = majority(np.uint64(board[2]), np.uint64(board[3]))
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    size = board[_SIZE]
    for row in range(size):
        for column in range(size):
            bit = 8 * row + column
            cell = (board[2] >> bit & 1) + 2 * (board[3] >> bit & 1)
            state[2 + row * size + column] = cell


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2] = board[3] = 0
    size = board[_SIZE]
    for row in range(size):
        for column in range(size):
            cell = state[2 + row * size + column]
            if cell == 1 or cell == 2:
                board[1 + cell] |= 1 << (8 * row + column)


class Othello(KernelGame):
    """Enclose the opponent's discs to turn them; the player with more at the end wins."""

    about = (
        "A disc must be put where it encloses discs of the opponent in a straight line, in any of "
        "the eight directions, between itself and another disc of its own colour; all enclosed "
        "discs change sides. A player who cannot do so passes. When neither player can, the game "
        "is over, and the player with more discs wins."
    )
    about_parameters: ClassVar = {
        "size": "rows and columns of the board: 4, 6 or 8",
        "passes": "false: the game is over as soon as a player cannot move",
    }
    first_steps = (
        "Click one of the marked cells. You win with more discs when neither player can move. A "
        "disc in a corner can never be turned, so take corners, and avoid the cells next to an "
        "empty one. Until late in a match, many possible moves are worth more than many discs."
    )
    variants: ClassVar = {
        "size=6": "A short match.",
        "passes=false": "The game is over as soon as a player cannot move.",
    }

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, size: int = 8, passes: bool = True) -> None:
        if size not in (4, 6, 8):
            raise SpecError(f"othello: size must be 4, 6 or 8, not {size}")
        self.size = size
        cells = size * size
        # There is a move between two passes: two passes in a row would have ended the game.
        plies = 2 * (cells - 4)
        super().__init__(
            (size, int(passes)), board=7, state=2 + cells, actions=cells + 1, plies=plies
        )

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return of_placements(self.size, self.size, range(self.size**2), passes=1)

    def action_name(self, state: State, action: int) -> str:
        if action == self.size**2:
            return "pass"
        return square_name(*divmod(action, self.size))

    def view(self, state: State) -> BoardView:
        actions = self.legal_actions(state)
        clicks = {a: (a,) if a < self.size**2 else () for a in actions}
        discs = [state[2:].count(player) for player in (1, 2)]
        note = f"discs {discs[0]}-{discs[1]}" + (", pass" if () in clicks.values() else "")
        return BoardView(
            self.size, self.size, state[2:], clicks, piece="disc", surface="green", note=note
        )
