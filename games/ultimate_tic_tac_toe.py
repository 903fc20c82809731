"""Ultimate tic-tac-toe: nine boards of tic-tac-toe that form a larger one.

An action is 9 * board + cell. The cell of a move is the board in which the opponent must play next;
if that board is won or full, the opponent may play in any other.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from playout.games import Board, BoardView, GridGame, Kernels, State, Vector, helper, kernel
from playout.games.core.bits import count, read_owners, write_bits, write_owners
from playout.games.core.grid import rows_of_pieces
from playout.games.core.kernels import at
from playout.games.core.random import GAMMA, Rng, below
from playout.games.tic_tac_toe import FULL, WINS

ANYWHERE = 9

#: For each set of nine cells: which is the first, second, ...; 16 numbers a set.
NTH = np.array(
    [([cell for cell in range(9) if cells >> cell & 1] + [0] * 16)[:16] for cells in range(512)],
    dtype=np.int8,
).reshape(-1)
_EACH_BYTE, _TOP_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_1, _8 = np.uint64(1), np.uint64(8)

# board: player, outcome, where to play (0-8 or ANYWHERE), the boards won by player 1 and by
# player 2 and those finished (nine bits each), then nine boards of player 1, nine of player 2.
_FORCED, _WON, _FINISHED, _CELLS = 2, 3, 5, 6


@helper
def unmarked(board: Board, inner: int) -> int:
    """Return the cells of one small board without a mark."""
    return FULL & ~(at(board, _CELLS + inner) | at(board, _CELLS + 9 + inner))


@helper
def empty_cells(board: Board, inner: int) -> int:
    """Return the cells of one small board that may be played."""
    return 0 if board[_FINISHED] >> inner & 1 else unmarked(board, inner)


@helper
def mark(board: Board, player: int, action: int) -> None:
    """Put a mark, and record whether that wins or fills its small board."""
    inner = action // 9
    cell = 1 << action - inner * 9
    place = _CELLS + 9 * (player - 1) + inner
    board[place] |= cell
    if at(WINS, board[place]):
        board[_WON + player - 1] |= 1 << inner
        board[_FINISHED] |= 1 << inner
    elif board[_CELLS + inner] | board[_CELLS + 9 + inner] == FULL:
        board[_FINISHED] |= 1 << inner


@helper
def advance(board: Board, action: int) -> None:
    """Play an action: set the mark, the outcome, the player to move and the next board."""
    player = board[0]
    mark(board, player, action)
    if at(WINS, board[_WON + player - 1]):
        board[1] = player
    elif board[_FINISHED] == FULL:
        board[1] = -1
    target = action % 9
    board[_FORCED] = ANYWHERE if board[_FINISHED] >> target & 1 else target
    board[0] = 3 - player


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


@helper
def first_bit(inner: int) -> np.uint64:
    """Return the lowest bit of a byte, the first of eight; 0 for the ninth, which no word has."""
    half = np.uint64(4 * inner)
    return _1 << half << half


@helper
def split(pick: int, counts: np.uint64) -> tuple[int, int]:
    """Return the small board with the cell number `pick` of all, and the number of that in it.

    Each byte of `counts` has the number of cells of a board, without that of the last board.
    """
    sums = counts * _EACH_BYTE  # of a board and those before it
    above = (sums | _TOP_BITS) - np.uint64(pick + 1) * _EACH_BYTE & _TOP_BITS
    inner = 8 - count(above)
    before = sums << _8 if inner < 8 else sums
    return inner, pick - int(before >> np.uint64(8 * min(inner, 7)) & np.uint64(255))


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, target = board[0], board[_FORCED]
    finished = board[_FINISHED] | 1 << ANYWHERE
    counts, total = np.uint64(0), 0
    for inner in range(9):
        cells = count(empty_cells(board, inner))
        counts += np.uint64(cells) * first_bit(inner)
        total += cells
    ply, state = 0, rng[0]
    while True:
        state += GAMMA
        if finished >> target & 1:
            inner, pick = split(below(state, total), counts)
            cells = unmarked(board, inner)
        else:
            inner = target
            cells = unmarked(board, inner)
            pick = below(state, count(cells))
        target = int(NTH[np.uint64(16 * cells + pick)])
        trace[ply] = 9 * inner + target
        ply += 1
        place = _CELLS + 9 * player - 9 + inner
        own = at(board, place) | 1 << target
        board[place] = own
        cells ^= 1 << target
        counts -= first_bit(inner)
        total -= 1
        if at(WINS, own) or cells == 0:
            left = count(cells)
            counts -= np.uint64(left) * first_bit(inner)
            total -= left
            finished |= 1 << inner
            if at(WINS, own):
                board[_WON + player - 1] |= 1 << inner
                if at(WINS, board[_WON + player - 1]):
                    board[1] = player
                    break
            if finished == FULL | 1 << ANYWHERE:
                board[1] = -1
                break
        player = 3 - player
    rng[0] = state
    board[0] = 3 - player
    board[_FINISHED] = finished & FULL
    board[_FORCED] = ANYWHERE if finished >> target & 1 else target
    return ply


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


#: The action that marks each cell of the nine by nine board, row by row.
_ACTIONS = tuple(
    9 * (row // 3 * 3 + column // 3) + row % 3 * 3 + column % 3
    for row in range(9)
    for column in range(9)
)
_BOARDS = (
    "top left", "top", "top right", "left", "centre", "right",
    "bottom left", "bottom", "bottom right",
)  # fmt: skip


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
    groups = ("rows",)
    first_steps = (
        "Click one of the marked cells. You win with three small boards in a row. The place of "
        "your cell within its small board is the small board on which the opponent has to play, "
        "so look where each move sends the opponent."
    )

    rows = columns = 9
    puts_stones = True
    cell_words = tuple(2 + action for action in _ACTIONS)
    action_cells = tuple((_ACTIONS.index(action),) for action in range(81))

    kernels = Kernels(legal, play, playout, write, read, blocks=blocks)

    def __init__(self) -> None:
        super().__init__(
            first=(1, 0, *[0] * 81, ANYWHERE), board=24, state=84, actions=81, plies=81
        )

    def note(self, state: State) -> str:
        where = "anywhere" if state[83] == ANYWHERE else f"on board {_BOARDS[state[83]]}"
        return "" if state[1] else f"to move {where}"

    def winning(self, state: State) -> tuple[int, ...]:
        """Return the marks with which the winner has won the small boards that are in a row."""
        winners = np.empty(9, dtype=np.int64)
        blocks(np.array(state), winners)
        won = rows_of_pieces(winners.tolist(), 3, state[1], 3) if state[1] > 0 else ()
        cells = self.cells(state)
        return tuple(
            cell
            for cell, owner in enumerate(cells)
            if owner == state[1] and cell // 27 * 3 + cell % 9 // 3 in won
        )

    def view(self, state: State) -> BoardView:
        winners = np.empty(9, dtype=np.int64)
        blocks(np.array(state), winners)
        won = tuple(winners.tolist())
        return dataclasses.replace(super().view(state), block=3, blocks=won)
