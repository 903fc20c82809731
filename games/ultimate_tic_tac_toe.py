"""Ultimate tic-tac-toe: nine boards of tic-tac-toe that form a larger one.

An action is 9 * board + cell. The cell of a move is the board in which the opponent must play next;
if that board is won or full, the opponent may play in any other.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from playout.games import Board, BoardView, GridGame, Kernels, State, Vector, helper, kernel
from playout.games.core.bits import read_owners, write_bits, write_owners
from playout.games.core.kernels import inlined_helper
from playout.games.core.playouts import random_playout
from playout.games.core.random import Rng, below
from playout.games.tic_tac_toe import FULL, WINS

ANYWHERE = 9

#: For each set of nine cells: how many it holds, and which is the first, second, ...
COUNT = np.array([cells.bit_count() for cells in range(512)])
NTH = np.array(
    [([cell for cell in range(9) if cells >> cell & 1] + [0] * 9)[:9] for cells in range(512)],
    dtype=np.int8,
)

# board: player, outcome, where to play (0-8 or ANYWHERE), the boards won by player 1 and by
# player 2 and those finished (nine bits each), then nine boards of player 1, nine of player 2.
_FORCED, _WON, _FINISHED, _CELLS = 2, 3, 5, 6


@helper
def empty_cells(board: Board, inner: int) -> int:
    """Return the cells of one small board that may be played."""
    if board[_FINISHED] >> inner & 1:
        return 0
    return FULL & ~(board[_CELLS + inner] | board[_CELLS + 9 + inner])


@helper
def mark(board: Board, player: int, action: int) -> None:
    """Put a mark, and record whether that wins or fills its small board."""
    inner = action // 9
    cell = 1 << action - inner * 9
    place = _CELLS + 9 * (player - 1) + inner
    board[place] |= cell
    if WINS[board[place]]:
        board[_WON + player - 1] |= 1 << inner
        board[_FINISHED] |= 1 << inner
    elif board[_CELLS + inner] | board[_CELLS + 9 + inner] == FULL:
        board[_FINISHED] |= 1 << inner


@helper
def advance(board: Board, action: int) -> None:
    """Play an action: set the mark, the outcome, the player to move and the next board."""
    player = board[0]
    mark(board, player, action)
    if WINS[board[_WON + player - 1]]:
        board[1] = player
    elif board[_FINISHED] == FULL:
        board[1] = -1
    target = action % 9
    board[_FORCED] = ANYWHERE if board[_FINISHED] >> target & 1 else target
    board[0] = 3 - player


@kernel
def start(board: Board, params: Vector) -> None:
    board[:] = 0
    board[0] = 1
    board[_FORCED] = ANYWHERE


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    forced = board[_FORCED]
    first, last = (0, 9) if forced == ANYWHERE else (forced, forced + 1)
    n = 0
    for inner in range(first, last):
        n = write_bits(empty_cells(board, inner), 9 * inner, actions, n)
    return n


@kernel
def play(board: Board, action: int) -> None:
    advance(board, action)


@inlined_helper
def choose(board: Board, state: np.uint64) -> int:
    """Return a random empty cell of the small board to play on, or of all if any is allowed."""
    inner = board[_FORCED]
    if inner < ANYWHERE:
        cells = empty_cells(board, inner)
        return 9 * inner + NTH[cells, below(state, COUNT[cells])]
    n = 0
    for each in range(9):
        n += COUNT[empty_cells(board, each)]
    pick = below(state, n)
    inner = 0
    while pick >= COUNT[empty_cells(board, inner)]:
        pick -= COUNT[empty_cells(board, inner)]
        inner += 1
    return 9 * inner + NTH[empty_cells(board, inner), pick]


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    return random_playout(board, rng, trace, choose, advance)


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for inner in range(9):
        cells = state[2 + 9 * inner : 11 + 9 * inner]
        write_owners(board[_CELLS + inner], board[_CELLS + 9 + inner], 3, 3, cells)
    state[83] = board[_FORCED]


@kernel
def read(state: Vector, board: Board) -> None:
    board[_FORCED:] = 0
    for action in range(81):
        owner = state[2 + action]
        if owner == 1 or owner == 2:
            mark(board, owner, action)
    board[:2] = state[:2]
    board[_FORCED] = state[83] if 0 <= state[83] <= ANYWHERE else ANYWHERE


@kernel
def blocks(state: Vector, winners: Vector) -> None:
    for inner in range(9):
        first, second = read_owners(state[2 + 9 * inner : 11 + 9 * inner], 3, 3)
        winners[inner] = 1 if WINS[first] else 2 if WINS[second] else 0


class UltimateTicTacToe(GridGame):
    """Nine boards of tic-tac-toe; each move decides the board of the opponent's next move."""

    title = "Ultimate tic-tac-toe"

    about = (
        "Nine small boards of tic-tac-toe form a large one. The position of a marked cell within "
        "its small board decides on which small board the opponent must play next; if that board "
        "is won or full, the opponent may play on any other. Three in a row win a small board, and "
        "three small boards in a row win the game. If all small boards are finished without that, "
        "it is a tie."
    )
    first_steps = (
        "Click one of the marked cells. You win with three small boards in a row. The place of "
        "your cell within its small board is the small board on which the opponent has to play, "
        "so look where each move sends the opponent."
    )

    rows = columns = 9

    kernels = Kernels(start, legal, play, playout, write, read, blocks=blocks)

    def __init__(self) -> None:
        super().__init__(board=24, state=84, actions=81, plies=81)

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        return tuple((_place(action),) for action in range(81))

    def cells(self, state: State) -> tuple[int, ...]:
        cells = [0] * 81
        for action in range(81):
            cells[_place(action)] = state[2 + action]
        return tuple(cells)

    def note(self, state: State) -> str:
        where = "anywhere" if state[83] == ANYWHERE else f"on board {_BOARDS[state[83]]}"
        return "" if state[1] else f"to move {where}"

    def view(self, state: State) -> BoardView:
        winners = np.empty(9, dtype=np.int64)
        blocks(np.array(state), winners)
        won = tuple(winners.tolist())
        return dataclasses.replace(super().view(state), block=3, blocks=won)


def _place(action: int) -> int:
    """Return the cell of an action on the nine by nine board, counted row by row."""
    outer, inner = divmod(action, 9)
    row = outer // 3 * 3 + inner // 3
    return row * 9 + outer % 3 * 3 + inner % 3


_BOARDS = (
    "top left", "top", "top right", "left", "centre", "right",
    "bottom left", "bottom", "bottom right",
)  # fmt: skip
