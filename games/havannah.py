"""Havannah: connect two corners or three sides, or close a ring. Also the kernels of Y.

Action y * (2 * size - 1) + x puts a stone, as in OpenSpiel; with swap=true, the cell of the first
stone is the swap. The neighbours of (x, y) are
(x + 1, y), (x, y + 1), (x + 1, y + 1) and the opposite ones. In Y, the third one is (x - 1, y + 1).
"""

from __future__ import annotations

import functools
import string
from collections.abc import Mapping
from typing import ClassVar

from playout.games import (
    Board,
    BoardView,
    KernelGame,
    Kernels,
    State,
    Symmetry,
    Vector,
    checked,
    helper,
    kernel,
    square_name,
)
from playout.games.core.bits import count
from playout.games.core.random import GAMMA, Rng, below
from playout.games.core.symmetries import Triple, of_triples

# board: player, outcome, rows (as many as columns), 1 if rings win, the distance of a cell from its
# third neighbour, the number of empty cells, and if there is a swap the number of all cells. Then
# the cells, with a border around them: 0 empty, 1 and 2 stones, OUTSIDE for other places; for each
# place the sides (bits 0 to 5) and the corners (bits 6 to 11) to which it belongs; and the stack of
# a flood fill, which is 0 when unused.
_ROWS, _RINGS, _THIRD, _EMPTY, _SWAP, _CELLS = 2, 3, 4, 5, 6, 7
OUTSIDE = 3
#: Added to the cells that a flood fill has visited.
_VISITED = 4
_SIDES, _FIRST_CORNER = 63, 64
#: The two sides that meet at each corner.
_CORNERS = ((0, 2), (2, 4), (1, 4), (1, 3), (3, 5), (0, 5))

MAX_SIZE = 10


@helper
def place_of(board: Board, cell: int) -> int:
    """Return where a cell is in the board."""
    rows = board[_ROWS]
    return _CELLS + (cell // rows + 1) * (rows + 2) + cell % rows + 1


@helper
def neighbour(board: Board, place: int, direction: int) -> int:
    """Return the place beside another one, in one of six directions."""
    which = direction >> 1
    step = 1 if which == 0 else board[_ROWS] + 2 if which == 1 else board[_THIRD]
    return place + step if direction & 1 else place - step


@helper
def flood(board: Board, first: int, player: int, own: bool) -> int:
    """Visit all cells that are connected with the first one; return their sides and corners.

    They have stones of the player or, if not `own`, everything else.
    """
    places = (board[_ROWS] + 2) ** 2
    stack = _CELLS + 2 * places
    board[stack] = first
    board[first] += _VISITED
    top, edges = 1, 0
    while top > 0:
        top -= 1
        place = board[stack + top]
        board[stack + top] = 0
        edges |= board[place + places]
        for direction in range(6):
            other = neighbour(board, place, direction)
            if board[other] < OUTSIDE and (board[other] == player) == own:
                board[other] += _VISITED
                board[stack + top] = other
                top += 1
    return edges


@helper
def unvisit(board: Board) -> None:
    """Remove the marks of the flood fills."""
    for place in range(_CELLS, _CELLS + (board[_ROWS] + 2) ** 2):
        board[place] &= _VISITED - 1


@helper
def has_ring(board: Board, player: int) -> bool:
    """Return whether stones of a player surround a cell.

    If so, a cell without such a stone is not connected with the edge of the board, or a stone has
    six neighbours of its own colour.
    """
    places = (board[_ROWS] + 2) ** 2
    found = False
    for place in range(_CELLS, _CELLS + places):
        if board[place] < OUTSIDE and board[place] != player and board[place + places]:
            flood(board, place, player, False)
    for place in range(_CELLS, _CELLS + places):
        if board[place] == player:
            around = 0
            for direction in range(6):
                around += board[neighbour(board, place, direction)] == player
            found |= around == 6
        elif board[place] < OUTSIDE:
            found = True
    unvisit(board)
    return found


@helper
def has_won(board: Board, player: int) -> bool:
    """Return whether a player has connected three sides or two corners, or closed a ring."""
    won = False
    for place in range(_CELLS, _CELLS + (board[_ROWS] + 2) ** 2):
        if board[place] == player:
            edges = flood(board, place, player, True)
            won |= count(edges & _SIDES) >= 3 or count(edges & ~_SIDES) >= 2
    unvisit(board)
    if board[_RINGS] and not won:
        won = has_ring(board, player)
    return won


@helper
def can_swap(board: Board) -> bool:
    """Return whether the player to move may take over the only stone, which is the opponent's."""
    return board[0] == 2 and board[_EMPTY] + 1 == board[_SWAP] and board[1] == 0


@kernel
def start(board: Board, params: Vector) -> None:
    rows = params[0]
    board[:] = 0
    board[0] = 1
    board[_ROWS], board[_RINGS] = rows, params[1]
    board[_THIRD] = rows + 2 + params[2]
    places = (rows + 2) ** 2
    board[_CELLS : _CELLS + places] = OUTSIDE
    for cell in range(rows * rows):
        edges = params[4 + cell]
        if edges >= 0:
            place = place_of(board, cell)
            board[place] = 0
            board[place + places] = edges
            board[_EMPTY] += 1
    board[_SWAP] = board[_EMPTY] if params[3] else 0


@kernel
def legal(board: Board, actions: Vector) -> int:
    n, stone = 0, 1 if can_swap(board) else 0
    for cell in range(board[_ROWS] ** 2):
        if board[1] == 0 and board[place_of(board, cell)] <= stone:
            actions[n] = cell
            n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player, place = board[0], place_of(board, action)
    board[_EMPTY] -= board[place] == 0  # the swap changes the colour of a stone
    board[place] = player
    board[0] = 3 - player
    if has_won(board, player):
        board[1] = player
    elif board[_EMPTY] == 0:
        board[1] = -1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    begin, end = 0, legal(board, trace)
    if end == 0:
        return 0
    state = rng[0]
    if can_swap(board):
        state += GAMMA
        last = end - 1
        while board[place_of(board, trace[last])] == 0:
            last -= 1
        stone, trace[last] = trace[last], trace[end - 1]
        if below(state, end) == 0:
            play(board, stone)
            begin, trace[end - 1], trace[0] = 1, trace[0], stone
        else:
            end -= 1
    n = end - begin
    for i in range(begin, end - 1):
        state += GAMMA
        other = i + below(state, end - i)
        trace[i], trace[other] = trace[other], trace[i]
    rng[0] = state
    # A won position stays won, so bisection finds the first one.
    player = board[0]
    played, low, high = 0, 1, n
    while low < high or played != low:
        middle = (low + high) // 2
        while played < middle:
            cell = trace[begin + played]
            board[place_of(board, cell)] = player if played % 2 == 0 else 3 - player
            played += 1
        while played > middle:
            played -= 1
            board[place_of(board, trace[begin + played])] = 0
        if low < high:
            if has_won(board, 1) or has_won(board, 2):
                high = middle
            else:
                low = middle + 1
    board[_EMPTY] -= played
    last = player if played % 2 else 3 - player
    board[0] = 3 - last
    board[1] = last if has_won(board, last) else -1
    return begin + played


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for cell in range(board[_ROWS] ** 2):
        state[2 + cell] = board[place_of(board, cell)] % OUTSIDE


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[_EMPTY] = 0
    for cell in range(board[_ROWS] ** 2):
        place = place_of(board, cell)
        if board[place] != OUTSIDE:
            board[place] = state[2 + cell] if 1 <= state[2 + cell] <= 2 else 0
            board[_EMPTY] += board[place] == 0


class Havannah(KernelGame):
    """Connect two corners or three sides of the board, or close a ring."""

    about = (
        "In turn, a player puts a stone on an empty cell of a hexagonal board. A player wins with "
        "a chain of connected stones that joins two of the six corners, or three of the six sides, "
        "to which the corners do not belong, or that is a ring around at least one cell, whatever "
        "is on this cell. A full board without any of these is a tie. With `swap`, the second "
        "player may answer the first stone by taking it over: it changes its colour, and the first "
        "player moves again."
    )
    about_parameters: ClassVar = {
        "size": f"cells of a side of the board, 2 to {MAX_SIZE}",
        "swap": "the second player may take over the first stone",
    }
    first_steps = (
        "Click an empty cell. You win by joining two corners or three sides, or with a ring. "
        "Two stones with two empty cells between them that touch both are as good as "
        "connected; threaten two things at once."
    )
    variants: ClassVar = {
        "size=4": "A short match.",
        "size=10": "The largest board.",
        "swap=true": "The second player may take over the first stone.",
    }

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, size: int = 6, swap: bool = False) -> None:
        self.size = checked("havannah", "size", size, 2, MAX_SIZE)
        self.set_up(2 * size - 1, rings=True, third=1, swap=swap)

    def set_up(self, rows: int, *, rings: bool, third: int, swap: bool = False) -> None:
        """Make the board; `third` is 1 or -1, the column of the third neighbour in the next row."""
        self.rows = rows
        places = (rows + 2) ** 2
        edges = (self.edges_of(*divmod(cell, rows)) for cell in range(rows * rows))
        super().__init__(
            (rows, int(rings), third, int(swap), *edges),
            board=_CELLS + 3 * places,
            state=2 + rows * rows,
            actions=rows * rows,
            plies=len(self.triples) + int(swap),
        )

    def edges_of(self, row: int, column: int) -> int:
        """Return the sides and the corners to which a place belongs, -1 if it is not a cell."""
        last = self.size - 1
        away = (column - last, row - last, row - column)  # from the middle, along three axes
        if abs(away[2]) > last:
            return -1
        sides = [2 * axis + (each > 0) for axis, each in enumerate(away) if abs(each) == last]
        if len(sides) == 2:
            return _FIRST_CORNER << _CORNERS.index((sides[0], sides[1]))
        return 1 << sides[0] if sides else 0

    @functools.cached_property
    def triples(self) -> Mapping[int, Triple]:
        """The cells, each with three coordinates that symmetries exchange or negate."""
        middle, found = self.size - 1, {}
        for cell in range(self.rows**2):
            row, column = divmod(cell, self.rows)
            if abs(row - column) <= middle:
                found[cell] = column - middle, middle - row, row - column
        return found

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        drawn = [self.drawn(cell) for cell in range(self.rows**2)]
        return of_triples(self.triples, drawn, negated=True)

    def drawn(self, cell: int) -> int:
        """Return the cell of the view, whose rows are counted from the top."""
        return (self.rows - 1 - cell // self.rows) * self.rows + cell % self.rows

    def action_name(self, state: State, action: int) -> str:
        return square_name(*divmod(action, self.rows))

    def view(self, state: State) -> BoardView:
        rows = range(self.rows)
        cells, labels = [0] * self.rows**2, [""] * self.rows**2
        for cell in self.triples:
            place = self.drawn(cell)
            cells[place], labels[place] = state[2 + cell], self.action_name(state, cell)
        swaps = any(state[2 + action] for action in self.legal_actions(state))
        heights = {self.drawn(row * self.rows) // self.rows: str(row + 1) for row in rows}
        return BoardView(
            self.rows,
            self.rows,
            tuple(cells),
            {action: (self.drawn(action),) for action in self.legal_actions(state)},
            geometry="hex",
            piece="stone",
            cell_labels=tuple(labels),
            column_names=tuple(string.ascii_lowercase[: self.rows]),
            row_names=tuple(heights[row] for row in rows),
            note="the stone may be taken over" if swaps else "",
        )
