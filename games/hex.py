"""Hex: the first player connects top and bottom, the second left and right.

Actions are the cells, row by row, as in OpenSpiel; with swap=true, size² is the swap.
"""

from __future__ import annotations

import functools
from typing import Annotated, ClassVar

from playout.games import Board, GridGame, Kernels, Option, State, Symmetry, Vector, helper, kernel
from playout.games.core.bits import lowest, write_bits
from playout.games.core.kernels import inlined
from playout.games.core.random import GAMMA, Rng, below, shuffled_playout
from playout.games.core.symmetries import identity

# board: the header below, then a word for each row with its empty cells. Then for each player the
# rows of stones and, of these, the rows of reached stones: those connected to the player's first
# edge. The second player's rows are the columns of the board: mirrored at the diagonal, the edges
# change places and neighbours remain neighbours, so that one rule serves both players. One more row
# at each end has no stones; the row before the first one counts as reached, as it is the edge.
_SIZE, _SWAP, _STONES, _RECIPROCAL, _EMPTY = 2, 3, 4, 5, 6

MAX_SIDE = 19


@helper
def rows_of(board: Board, player: int) -> int:
    """Return where a player's rows of stones begin; the reached ones are size + 2 words later."""
    size = board[_SIZE]
    return _EMPTY + size + (player - 1) * 2 * (size + 2)


@helper
def clear(board: Board) -> None:
    """Remove all stones from the board."""
    size = board[_SIZE]
    board[_STONES] = 0
    board[_EMPTY:] = 0
    board[_EMPTY : _EMPTY + size] = (1 << size) - 1
    for player in (1, 2):
        board[rows_of(board, player) + size + 2] = -1


@helper
def spread(board: Board, stones: int, row: int) -> None:
    """Mark the stones that are connected to reached ones, after a change in a row."""
    reached = stones + board[_SIZE] + 2
    pending = 7 << row >> 1  # a bit for each row to look at: this one, and those beside it
    while pending:
        row = lowest(pending)
        pending &= pending - 1
        fresh = board[stones + row] & ~board[reached + row]
        if fresh == 0:
            continue
        found = board[reached + row]
        above, below_ = board[reached + row - 1], board[reached + row + 1]
        new = fresh & (above | above >> 1 | below_ | below_ << 1 | found << 1 | found >> 1)
        if new:
            while new:
                found |= new
                new = fresh & ~found & (found << 1 | found >> 1)
            board[reached + row] = found
            pending |= 5 << row >> 1


@inlined
def put(board: Board, player: int, action: int) -> bool:
    """Put a stone on an empty cell; return whether it connects the player's edges."""
    size = board[_SIZE]
    row = action * board[_RECIPROCAL] >> 16  # action // size, exact for every cell of 19x19
    column = action - row * size
    board[_EMPTY + row] ^= 1 << column
    if player == 2:
        row, column = column, row
    stones = rows_of(board, player)
    here = stones + row + 1
    there = here + size + 2
    cell = 1 << column
    above, beside, below_ = cell | cell << 1, cell << 1 | cell >> 1, cell | cell >> 1
    board[here] |= cell
    if not (board[there - 1] & above | board[there] & beside | board[there + 1] & below_):
        return False
    board[there] |= cell
    fresh = board[here - 1] & ~board[there - 1] & above
    fresh |= board[here] & ~board[there] & beside
    fresh |= board[here + 1] & ~board[there + 1] & below_
    if fresh:
        spread(board, stones, row + 1)
    return board[stones + size + 2 + size] != 0


@helper
def swap(board: Board) -> None:
    """Replace the first player's only stone by one of the second player, at the mirrored cell."""
    size = board[_SIZE]
    first = rows_of(board, 1)
    for row in range(size):
        cell = board[first + row + 1]
        if cell:
            column = lowest(cell)
            board[_EMPTY + row] |= cell
            board[first + row + 1] = board[first + row + 1 + size + 2] = 0
            put(board, 2, column * size + row)
            return


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    size = board[_SIZE]
    n = 0
    for row in range(size):
        n = write_bits(board[_EMPTY + row], row * size, actions, n)
    if board[_SWAP] and board[_STONES] == 1 and board[0] == 2:
        actions[n] = size * size
        n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[0] = 3 - player
    if action == board[_SIZE] * board[_SIZE]:
        swap(board)
        return
    board[_STONES] += 1
    if put(board, player, action):
        board[1] = player


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    cells = board[_SIZE] * board[_SIZE]
    begin, end = 0, legal(board, trace)
    if end and trace[end - 1] == cells:  # the swap, which changes the legal cells
        rng[0] += GAMMA
        end -= 1
        if below(rng[0], end + 1) == end:
            play(board, cells)
            begin, end = 1, legal(board, trace) + 1
            trace[end - 1] = trace[0]
            trace[0] = cells
    ply = shuffled_playout(board, rng, trace, begin, end, put)
    board[_STONES] += ply - begin
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    size = board[_SIZE]
    first = rows_of(board, 1)
    for row in range(size):
        for column in range(size):
            taken = 1 - (board[_EMPTY + row] >> column & 1)
            own = board[first + row + 1] >> column & 1
            state[2 + row * size + column] = 2 * taken - own


@kernel
def read(state: Vector, board: Board) -> None:
    clear(board)
    board[:2] = state[:2]
    for action in range(board[_SIZE] * board[_SIZE]):
        cell = state[2 + action]
        if cell == 1 or cell == 2:
            board[_STONES] += 1
            put(board, cell, action)


class Hex(GridGame):
    """Connect your two opposite edges of a rhombus of hexagons."""

    about = (
        "Players take turns to put a stone on an empty cell of a rhombus of hexagons. The first "
        "player wins with a chain of neighbouring stones from the top edge to the bottom edge, the "
        "second player with one from the left edge to the right edge. Exactly one of them "
        "succeeds: there are no ties. With `swap`, the second player may answer the first stone by "
        "swapping: that stone is replaced by one of the second player at the cell mirrored at the "
        "long diagonal, and the first player moves again."
    )
    groups = ("connection",)
    first_steps = (
        "Click an empty cell to put a stone there. You win with a chain of stones between the two "
        "edges of your colour. Two of your stones that have two empty neighbours in common are as "
        "good as connected: if the opponent takes one of them, take the other."
    )
    variants: ClassVar = {
        "size=7": "A short match.",
        "swap=true": "The second player may take over the first stone.",
    }

    look: ClassVar = {"geometry": "hex", "piece": "stone", "edges": (1, 2, 1, 2)}
    pass_name = "swap"
    legal_if_empty = puts_stones = True

    proposed: ClassVar = {"swap": True}
    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self,
        size: Annotated[int, Option("rows and columns of the board", ge=1, le=MAX_SIDE)] = 11,
        swap: Annotated[bool, Option("the second player may take over the first stone")] = False,
    ) -> None:
        self.size = self.rows = self.columns = size
        self.swap = swap
        cells = size * size
        words = _EMPTY + size + 4 * (size + 2)
        actions = cells + int(swap)
        header = {_SIZE: size, _SWAP: int(swap), _RECIPROCAL: (1 << 16) // size + 1}
        super().__init__(header, board=words, state=2 + cells, actions=actions, plies=actions)

    @functools.cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the adjacent cells and those a bridge away: two cells in common."""
        steps = ((0, 1), (1, 0), (1, -1), (1, 1), (2, -1), (1, -2))
        around = [(sign * row, sign * column) for row, column in steps for sign in (1, -1)]
        found = [
            tuple(
                (row + down) * self.size + column + right
                for down, right in around
                if 0 <= row + down < self.size and 0 <= column + right < self.size
            )
            for row in range(self.size)
            for column in range(self.size)
        ]
        return (*found, ()) if self.swap else tuple(found)

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        cells = self.size**2
        turned = tuple(reversed(range(cells)))
        half_turn = Symmetry(turned, turned + tuple(range(cells, self.num_actions)))
        return tuple(dict.fromkeys((identity(cells, self.num_actions), half_turn)))

    def winning(self, state: State) -> tuple[int, ...]:
        return self._chain(self.cells(state), state[1]) if state[1] else ()

    def _chain(self, cells: State, winner: int) -> tuple[int, ...]:
        """Return the cells of a shortest chain between the edges of the winner."""
        size = self.size
        first_edge = range(size) if winner == 1 else range(0, size * size, size)
        reached_from = {cell: cell for cell in first_edge if cells[cell] == winner}
        queue = list(reached_from)
        for cell in queue:  # breadth first
            if divmod(cell, size)[winner - 1] == size - 1:
                chain = {cell}
                while reached_from[cell] != cell:
                    cell = reached_from[cell]
                    chain.add(cell)
                return tuple(sorted(chain))
            for row, column in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)):
                row, column = row + cell // size, column + cell % size
                other = row * size + column
                inside = 0 <= row < size and 0 <= column < size
                if inside and cells[other] == winner and other not in reached_from:
                    reached_from[other] = cell
                    queue.append(other)
        raise ValueError(f"player {winner} has no chain")
