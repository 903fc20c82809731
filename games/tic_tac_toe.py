"""Tic-tac-toe: three in a row on 3x3. Actions 0-8, row by row, as in OpenSpiel."""

from __future__ import annotations

import numpy as np

from playout.games import Board, GridGame, Kernels, State, Vector, helper, kernel
from playout.games.core.bits import read_owners, write_owners
from playout.games.core.kernels import at
from playout.games.core.lines import rows_of_pieces
from playout.games.core.random import GAMMA, Rng, below

LINES = (0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
FULL = 0o777

#: For each set of cells, given as nine bits: 1 if it holds a line.
WINS = np.array([int(any(cells & line == line for line in LINES)) for cells in range(512)])

# board: player, outcome, cells of player 1, cells of player 2 (nine bits each)


@helper
def mark(board: Board, action: int) -> None:
    """Put the mark of the player to move, and set the outcome if it wins."""
    player = board[0]
    cells = board[1 + player] | 1 << action
    board[1 + player] = cells
    board[0] = 3 - player
    board[1] = player * at(WINS, cells)


@kernel
def start(board: Board, params: Vector) -> None:
    board[:] = 0
    board[0] = 1


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    if board[1] == 0:
        empty = FULL & ~(board[2] | board[3])
        for action in range(9):
            if empty >> action & 1:
                actions[n] = action
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    mark(board, action)
    if board[2] | board[3] == FULL and board[1] == 0:
        board[1] = -1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    n = legal(board, trace)
    ply = 0
    state = rng[0]
    while ply < n:
        state += GAMMA
        pick = ply + below(state, n - ply)
        action = trace[pick]
        trace[pick] = trace[ply]
        trace[ply] = action
        ply += 1
        mark(board, action)
        if board[1]:
            break
    rng[0] = state
    if board[1] == 0:
        board[1] = -1
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    write_owners(board[2], board[3], 3, 3, state[2:])


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2], board[3] = read_owners(state[2:], 3, 3)


class TicTacToe(GridGame):
    """Three in a row on a board of three by three."""

    title = "Tic-tac-toe"

    about = (
        "Two players take turns to mark one of nine squares. The first player with three marks in "
        "a row, a column or a diagonal wins; a full board without three in a row is a tie."
    )
    first_steps = (
        "Click an empty square. You win with three in a row. Complete a row if you can, otherwise "
        "stop the opponent from doing so; if neither is possible, the middle is best, then the "
        "corners."
    )

    family = "mnk"
    rows = columns = 3
    legal_if_empty = puts_stones = True
    sgf_number = 4  # that of gomoku

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self) -> None:
        super().__init__(board=4, state=11, actions=9, plies=9)

    def note(self, state: State) -> str:
        return "three in a row" if state[1] > 0 else ""

    def winning(self, state: State) -> tuple[int, ...]:
        return rows_of_pieces(self.cells(state), 3, state[1], 3) if state[1] > 0 else ()
