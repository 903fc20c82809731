"""Chong: bring your pawn to the far row; stones block the way, and a pawn can jump over its own.

Actions are the cell to which the pawn moves, 0 to 63, and 64 + the cell of a new stone, both row by
row. The rules are those of https://github.com/jbradberry/chong, except that a match ends in a tie
after 250 moves in a row without a new stone, which bounds its length.
"""

from __future__ import annotations

import functools
import string
from typing import ClassVar

import numpy as np

from playout.games import (
    Board,
    GridGame,
    Kernels,
    State,
    Symmetry,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import count, lowest, nth, without_lowest, write_bits
from playout.games.core.kernels import count_again, forget, remember, visits
from playout.games.core.random import GAMMA, Rng, below
from playout.games.core.symmetries import identity

SIDE = 8
CELLS = SIDE * SIDE
#: The stones of player 1 and of player 2.
STONES = (6, 7)
#: Visits of a position that make it a tie.
VISITS = 3
#: Moves in a row without a new stone that make it a tie.
QUIET_PLIES = 250
#: Each of the 13 stones ends at most QUIET_PLIES - 1 other moves.
PLIES = QUIET_PLIES * (1 + sum(STONES))

# board: player, outcome, the cells of the pawns, the stones of player 1 and of player 2 as words
# (cell c is bit c), the number of earlier positions since the last stone, and these positions. As
# stones stay where they are, a position is the cells of the pawns, in one number. The cell of the
# first player's pawn is below 56 and that of the second's above 7, so no position is 0. The player
# to move in a position follows from its index.
_PAWN, _STONES, _EARLIER, _HISTORY = 2, 4, 6, 7
#: Stones are put on all rows but the first and the last.
_INNER = ((1 << 48) - 1) << 8
_STARTS = 3, CELLS - 4

# state: the cells (0 empty, 1 and 2 stones of the players, 3 and 4 their pawns), then the earlier
# positions since the last stone, filled up with 0.


def _inside(row: int, column: int) -> bool:
    return 0 <= row < SIDE and 0 <= column < SIDE


def _near(cell: int, distances: tuple[tuple[int, int], ...], reach: int) -> int:
    """Return the cells at these distances whose extension to `reach` times that is on the board."""
    row, column = divmod(cell, SIDE)
    return sum(
        1 << (row + down) * SIDE + column + right
        for down, right in distances
        if _inside(row + reach * down, column + reach * right)
    )


_ORTHOGONAL = ((-1, 0), (0, -1), (0, 1), (1, 0))
_ALL = (*_ORTHOGONAL, (-1, -1), (-1, 1), (1, -1), (1, 1))
#: For each cell, the cells one step away, and the cells over which a pawn can jump.
_STEPS = np.array([_near(cell, _ORTHOGONAL, 1) for cell in range(CELLS)], np.uint64).view(np.int64)
_JUMPED = np.array([_near(cell, _ALL, 2) for cell in range(CELLS)], np.uint64).view(np.int64)


@helper
def empty_cells(board: Board) -> int:
    """Return the cells without a pawn or a stone."""
    pawns = 1 << board[_PAWN] | 1 << board[_PAWN + 1]
    return ~(pawns | board[_STONES] | board[_STONES + 1])


@helper
def pawn_targets(pawn: int, stones: int, empty: int) -> int:
    """Return the cells to which a pawn can go, with the stones of its player."""
    targets = _STEPS[pawn] & empty
    jumped = _JUMPED[pawn] & stones
    while jumped:
        targets |= 1 << 2 * lowest(jumped) - pawn & empty
        jumped = without_lowest(jumped)
    return targets


@helper
def stone_cells(player: int, stones: int, empty: int) -> int:
    """Return the cells where a player, 0 or 1, can put another stone."""
    return _INNER & empty if count(stones) < STONES[player] else 0


@helper
def moves_of(board: Board) -> tuple[int, int]:
    """Return the cells for the pawn of the player to move, and those for a stone."""
    player = board[0] - 1
    stones, empty = board[_STONES + player], empty_cells(board)
    targets = pawn_targets(board[_PAWN + player], stones, empty)
    return targets, stone_cells(player, stones, empty)


@helper
def position_of(board: Board) -> int:
    """Return the number of the position among those since the last stone."""
    return board[_PAWN] * CELLS + board[_PAWN + 1]


@helper
def advance(board: Board, action: int) -> None:
    """Play an action, and end the game if a pawn arrives or the position repeats."""
    player = board[0] - 1
    board[0] = 2 - player
    if action >= CELLS:
        board[_STONES + player] |= 1 << action - CELLS
        forget(board, _EARLIER, _HISTORY)
        return
    remember(board, _EARLIER, _HISTORY, position_of(board))
    board[_PAWN + player] = action
    earlier = visits(board, _EARLIER, _HISTORY, position_of(board), 2)
    if action // SIDE == (SIDE - 1) * (1 - player):
        board[1] = player + 1
    elif board[_EARLIER] >= QUIET_PLIES or earlier + 1 >= VISITS:
        board[1] = -1


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    targets, cells = moves_of(board)
    return write_bits(cells, CELLS, actions, write_bits(targets, 0, actions, 0))


@helper
def end_if_blocked(board: Board) -> None:
    """Set a loss of the player to move who has no move, in place of a tie by another rule."""
    targets, cells = moves_of(board)
    if targets | cells == 0:
        board[1] = 3 - board[0]


@kernel
def play(board: Board, action: int) -> None:
    advance(board, action)
    if board[1] < 1:
        end_if_blocked(board)


@helper
def mark_of(position: int) -> int:
    """Return a word with one bit, the same one for the same position."""
    return 1 << (position + 5 * (position >> 6) & 63)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    ply, state, player = 0, rng[0], board[0] - 1
    pawn, other = board[_PAWN + player], board[_PAWN + 1 - player]
    own_stones, other_stones = board[_STONES + player], board[_STONES + 1 - player]
    empty = empty_cells(board)
    position = position_of(board)
    earlier = board[_EARLIER]
    seen = other_seen = 0  # marks of the earlier positions with each player to move
    for i in range(earlier):
        seen, other_seen = other_seen, seen | mark_of(board[_HISTORY + i])
    outcome = 0
    while outcome == 0:
        targets, cells = (
            pawn_targets(pawn, own_stones, empty),
            stone_cells(player, own_stones, empty),
        )
        moves = count(targets)
        n = moves + count(cells)
        if n == 0:
            outcome = 2 - player
            break
        state += GAMMA
        pick = below(state, n)
        if pick < moves:
            cell = trace[ply] = nth(targets, pick)
            empty ^= 1 << pawn | 1 << cell
            board[_HISTORY + earlier] = position
            earlier += 1
            seen |= mark_of(position)
            position += (cell - pawn) * (1 if player else CELLS)
            pawn = cell
            if cell // SIDE == (SIDE - 1) * (1 - player):
                outcome = player + 1
            elif earlier >= QUIET_PLIES:
                outcome = -1
            elif other_seen & mark_of(position):
                board[_EARLIER] = earlier
                if visits(board, _EARLIER, _HISTORY, position, 2) + 1 >= VISITS:
                    outcome = -1
        else:
            cell = nth(cells, pick - moves)
            trace[ply] = CELLS + cell
            own_stones |= 1 << cell
            empty ^= 1 << cell
            board[_HISTORY : _HISTORY + earlier] = 0
            earlier = seen = other_seen = 0
        ply += 1
        player = 1 - player
        pawn, other = other, pawn
        seen, other_seen = other_seen, seen
        own_stones, other_stones = other_stones, own_stones
    rng[0] = state
    board[0] = player + 1
    board[1], board[_EARLIER] = outcome, earlier
    board[_PAWN + player], board[_PAWN + 1 - player] = pawn, other
    board[_STONES + player], board[_STONES + 1 - player] = own_stones, other_stones
    if outcome == -1:
        end_if_blocked(board)
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for cell in range(CELLS):
        state[2 + cell] = (board[_STONES] >> cell & 1) + 2 * (board[_STONES + 1] >> cell & 1)
    for player in range(2):
        state[2 + board[_PAWN + player]] = 3 + player
    state[2 + CELLS :] = board[_HISTORY:]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[_STONES] = board[_STONES + 1] = 0
    for cell in range(CELLS):
        piece = state[2 + cell]
        if 1 <= piece <= 2 and _INNER >> cell & 1:
            board[_STONES + piece - 1] |= 1 << cell
        elif 3 <= piece <= 4:
            board[_PAWN + piece - 3] = cell
    board[_HISTORY:] = state[2 + CELLS :]
    most = QUIET_PLIES if board[1] else QUIET_PLIES - 1  # while the game goes on, there is room
    count_again(board, _EARLIER, _HISTORY, most)


class Chong(GridGame):
    """Bring your pawn to the far row; it can jump over your stones."""

    about = (
        "Each player has a pawn. In turn, a player moves their pawn one step up, down, left or "
        "right, or jumps with it over one of their stones next to it, in any of the eight "
        "directions, onto the empty cell behind, or puts a stone on any empty cell except in the "
        "first and the last row. The first player has six stones and the second seven; they stay "
        "where they are. "
        "The player whose pawn reaches the opposite row wins, and a player who cannot move loses. "
        "A position that occurs for the third time is a tie, and so are "
        f"{QUIET_PLIES} moves in a row without a new stone."
    )
    groups = ("quick",)
    first_steps = (
        "Click an empty cell to put a stone there, or your pawn and then the cell to which it "
        "goes. You win when your pawn reaches the opposite row. Use stones to block the other "
        "pawn, and place some so that your own pawn can jump over them."
    )

    rows = columns = SIDE
    row_names = tuple("01234567")
    look: ClassVar = {"piece": "disc"}
    pieces = ((0, ""), (1, "stone"), (2, "stone"), (1, "pawn"), (2, "pawn"))
    action_cells = ()
    stone_cells: ClassVar = {CELLS + cell: cell for cell in range(SIDE, CELLS - SIDE)}

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(self) -> None:
        first = [0] * CELLS
        first[_STARTS[0]], first[_STARTS[1]] = 3, 4
        super().__init__(
            first=(1, 0, *first),
            board=_HISTORY + QUIET_PLIES,
            state=2 + CELLS + QUIET_PLIES,
            actions=2 * CELLS,
            plies=PLIES,
            earlier=QUIET_PLIES,
        )

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        mirrored = tuple(cell ^ (SIDE - 1) for cell in range(CELLS))
        stones = tuple(CELLS + cell for cell in mirrored)
        return identity(CELLS, 2 * CELLS), Symmetry(mirrored, mirrored + stones)

    def action_name(self, state: State, action: int) -> str:
        row, column = divmod(action % CELLS, SIDE)
        return f"{'P' if action < CELLS else ''}{string.ascii_lowercase[column]}{row}"

    def clicked(self, state: State, action: int) -> tuple[int, ...]:
        pawn = self.numbers(state).index(2 + state[0])
        return (pawn, action) if action < CELLS else (action - CELLS,)

    def note(self, state: State) -> str:
        first, second = (self.numbers(state).count(player) for player in (1, 2))
        return f"stones left {STONES[0] - first}-{STONES[1] - second}"
