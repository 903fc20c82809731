"""Tic-tac-toe: three in a row on 3x3. Actions 0-8, row by row, as in OpenSpiel."""

from __future__ import annotations

import numpy as np

from playout.games import Board, GridGame, Kernels, State, Vector, kernel
from playout.games.core.bits import owners_codec, write_bits
from playout.games.core.grid import rows_of_pieces
from playout.games.core.kernels import at, inlined
from playout.games.core.random import Rng, shuffled_playout

LINES = (0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
FULL = 0o777

#: For each set of cells, given as nine bits: 1 if it holds a line.
WINS = np.array([int(any(cells & line == line for line in LINES)) for cells in range(512)])

# board: player, outcome, cells of player 1, cells of player 2 (nine bits each)


@inlined
def put(board: Board, player: int, action: int) -> bool:
    """Put a mark, and return whether it wins."""
    cells = board[1 + player] | 1 << action
    board[1 + player] = cells
    return at(WINS, cells) != 0


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    return write_bits(FULL & ~(board[2] | board[3]), 0, actions, 0)


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[0] = 3 - player
    if put(board, player, action):
        board[1] = player
    elif board[2] | board[3] == FULL:
        board[1] = -1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply = shuffled_playout(board, rng, trace, 0, legal(board, trace), put)
    if board[1] == 0:
        board[1] = -1
    return ply


class TicTacToe(GridGame):
    """Three in a row on a board of three by three."""

    title = "Tic-tac-toe"

    about = (
        "Two players take turns to mark one of nine squares. The first player with three marks in "
        "a row, a column or a diagonal wins; a full board without three in a row is a tie."
    )
    groups = ("rows", "quick")
    first_steps = (
        "Click an empty square. You win with three in a row. Complete a row if you can, otherwise "
        "stop the opponent from doing so; if neither is possible, the middle is best, then the "
        "corners."
    )

    family = "mnk"
    rows = columns = 3
    legal_if_empty = puts_stones = True
    sgf_number = 4  # that of gomoku

    kernels = Kernels(legal, play, playout, *owners_codec(range(9)))

    def __init__(self) -> None:
        super().__init__(board=4, state=11, actions=9, plies=9)

    def note(self, state: State) -> str:
        return "three in a row" if state[1] > 0 else ""

    def winning(self, state: State) -> tuple[int, ...]:
        return rows_of_pieces(self.cells(state), 3, state[1], 3) if state[1] > 0 else ()
