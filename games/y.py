"""Y: connect the three sides of a triangle.

Action row * size + column puts a stone, as in OpenSpiel; each row has a cell less than the one
above it. The neighbours of (row, column) are
(row, column + 1), (row + 1, column), (row + 1, column - 1) and the opposite ones.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from playout.games import (
    Board,
    KernelGame,
    Kernels,
    Option,
    Symmetry,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import lowest, write_bits
from playout.games.core.random import GAMMA, Rng, below, exchange
from playout.games.core.symmetries import Triple, of_triples
from playout.games.havannah import Havannah

# board: player, outcome, size, the number of words for a set of cells, then three sets as bits: the
# empty cells, and the stones of each player. The rest is working memory, which is 0 when unused.
_SIZE, _WORDS, _SETS = 2, 3, 4
#: In a playout, the bytes of stones that were there before; MIDDLE divides those of the players.
_FIRST, _MIDDLE, _SECOND = 0, 128, 255
#: Bytes are reduced in blocks, the last of which may go beyond the cells.
_BLOCK = 32
_1, _63, _64 = np.uint64(1), np.uint64(63), np.uint64(64)

MAX_SIZE = 19


@helper
def owner(board: Board, cell: int) -> int:
    """Return the player whose stone is on a cell, 0 if it is empty, and -1 if it is not a cell."""
    for each in range(3):
        if board[_SETS + each * board[_WORDS] + (cell >> 6)] >> (cell & 63) & 1:
            return each
    return -1


@helper
def put(board: Board, player: int, action: int) -> None:
    """Put a stone on an empty cell."""
    place, bit = _SETS + (action >> 6), 1 << (action & 63)
    board[place] ^= bit
    board[place + player * board[_WORDS]] ^= bit


@helper
def clear(board: Board) -> None:
    """Remove all stones from the board."""
    size = board[_SIZE]
    board[_SETS:] = 0
    for row in range(size):
        for cell in range(row * size, row * size + size - row):
            board[_SETS + (cell >> 6)] |= 1 << (cell & 63)


# Two functions reduce the board, a row at a time, to one cell: each step replaces three cells that
# touch each other by one, with the colour of at least two of them. If all cells have stones, the
# same player has won before and after a step (van Rijswijck 2002, Search and Evaluation in Hex).


@helper
def has_won(board: Board, player: int) -> bool:
    """Return whether a player wins if all empty cells become the opponent's."""
    size, words = board[_SIZE], board[_WORDS]
    stones, work = _SETS + player * words, _SETS + 3 * words
    for word in range(words):
        board[work + word] = board[stones + word]
    sets, down = board.view(np.uint64), np.uint64(size)
    for row in range(size - 2, -1, -1):
        here, left = sets[np.uint64(work)], np.uint64(0)
        for word in range((row * size >> 6) + 1):
            place = np.uint64(work + word)
            after = sets[place + _1]
            right, below_ = here >> _1 | after << _63, here >> down | after << (_64 - down)
            sets[place] = here & right | below_ & (here | right)
            left |= sets[place]
            here = after
        if not left:
            break
    won = board[work] & 1 != 0
    board[work:] = 0
    return won


@helper
def last_median(cells: NDArray[np.uint8], work: int, size: int) -> int:
    """Reduce bytes of the working memory by their medians; return the last one.

    It is below a bound if and only if the first player wins with the cells that are below it.
    """
    for row in range(size - 2, -1, -1):
        for block in range(work, work + row * size + 1, _BLOCK):
            for i in range(_BLOCK):
                place = np.uint64(block + i)
                one, two, three = cells[place], cells[place + _1], cells[place + np.uint64(size)]
                cells[place] = max(min(one, two), min(max(one, two), three))
    return np.int64(cells[work])  # type: ignore[return-value]


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    if board[1] == 0:
        for word in range(board[_WORDS]):
            n = write_bits(board[_SETS + word], 64 * word, actions, n)
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[0] = 3 - player
    put(board, player, action)
    if has_won(board, player):
        board[1] = player


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    # Fill the board. The first player's stones have the number of their turn, counted from FIRST,
    # and the second player's are counted down from SECOND. So the last median is the winning stone.
    n = legal(board, trace)
    if n == 0:
        return 0
    size, words, cells = board[_SIZE], board[_WORDS], board.view(np.uint8)
    work = 8 * (_SETS + 3 * words)
    for word in range(words):
        rest = board[_SETS + 2 * words + word]
        while rest:
            cells[work + 64 * word + lowest(rest)] = _SECOND
            rest &= rest - 1
    player, state = board[0], rng[0]
    for ply in range(n):
        state += GAMMA
        action = exchange(trace, ply, ply + below(state, n - ply))
        turn = 1 + (ply >> 1)
        is_first = ply & 1 == player - 1
        cells[np.uint64(work + action)] = _FIRST + turn if is_first else _SECOND - turn
    rng[0] = state
    found = last_median(cells, work, size)
    board[work >> 3 :] = 0
    winner = 1 if found < _MIDDLE else 2
    turns = found - _FIRST if winner == 1 else _SECOND - found
    plies = 2 * turns - (winner == player)
    for ply in range(plies):
        action = trace[ply]
        place = _SETS + (player if ply & 1 == 0 else 3 - player) * words + (action >> 6)
        board[np.uint64(place)] |= 1 << (action & 63)
    for word in range(_SETS, _SETS + words):
        board[word] &= ~(board[word + words] | board[word + 2 * words])
    board[0] = 3 - winner
    board[1] = winner
    return plies


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for cell in range(board[_SIZE] ** 2):
        state[2 + cell] = max(0, owner(board, cell))


@kernel
def read(state: Vector, board: Board) -> None:
    clear(board)
    board[:2] = state[:2]
    for cell in range(board[_SIZE] ** 2):
        stone = state[2 + cell]
        if (stone == 1 or stone == 2) and owner(board, cell) == 0:
            put(board, stone, cell)


class Y(Havannah):
    """Connect all three sides of a triangular board."""

    about = (
        "In turn, a player puts a stone on an empty cell of a triangular board of hexagons. The "
        "first player with a chain of connected stones that touches all three sides wins; a corner "
        "belongs to two sides. There are no ties: on a full board, one player has such a chain."
    )
    groups = ("connection",)
    first_steps = (
        "Click an empty cell. You win with a chain that touches all three sides. Stones in the "
        "middle are worth most. Two stones with two empty cells between them that touch both are "
        "as good as connected."
    )
    variants: ClassVar = {
        "size=6": "A short match.",
        "size=19": "The largest board.",
    }
    family = "y"
    upward = False
    legal_if_empty = True

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self, size: Annotated[int, Option("cells of a side of the board", ge=1, le=MAX_SIZE)] = 11
    ) -> None:
        self.size = self.rows = self.columns = size
        cells = size * size
        KernelGame.__init__(
            self,
            {_SIZE: size, _WORDS: (cells + 63) // 64},
            board=_SETS + 3 * ((cells + 63) // 64) + (cells + 7 + _BLOCK) // 8,
            state=2 + cells,
            actions=cells,
            plies=len(self.triples),
        )

    @functools.cached_property
    def triples(self) -> Mapping[int, Triple]:
        rows = range(self.size)
        return {
            row * self.size + column: (row, column, self.size - 1 - row - column)
            for row in rows
            for column in rows[: self.size - row]
        }

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return of_triples(self.triples, range(self.size**2), negated=False)

    def drawn(self, cell: int) -> int:
        return cell
