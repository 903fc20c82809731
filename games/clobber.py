"""Clobber: move a piece onto a neighbouring piece of the opponent; the last to move wins.

Action (row * columns + column) * 4 + direction moves the piece of a cell up, right, down or left
(directions 0 to 3), as in OpenSpiel.
"""

from __future__ import annotations

import functools
from typing import Annotated, ClassVar

from playout.games import Board, GridGame, Kernels, Option, Vector, helper, kernel
from playout.games.core.bits import count, lowest, nth
from playout.games.core.grid import cells_of_moves
from playout.games.core.kernels import LEVEL, bounded
from playout.games.core.random import GAMMA, Rng, below

# board: the header below, then two words for each player: the pieces of rows 0 to 4 and of rows 5
# to 9, a bit each. A row takes eleven bits, of which the last is empty, so that the last cell of a
# row is not beside the first one of the next. Pieces that are connected with no opponent, and so
# never move again, are in the same order in four more words, which tell no positions apart.
_ROWS, _COLUMNS, _RECIPROCAL, _PIECES, _STUCK = 2, 3, 4, 5, 9

MAX_SIDE = 10
_STRIDE = 11
_HALF = 5 * _STRIDE
_LAST = _HALF - _STRIDE

#: Rows down and columns to the right for each direction.
_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))

Moves = tuple[int, int, int, int, int, int, int, int]


@helper
def words_of(place: int) -> tuple[int, int]:
    """Return two words with only the bit of a cell set; its place is row * 11 + column."""
    return (1 << place, 0) if place < _HALF else (0, 1 << (place - _HALF))


@helper
def after(place: int, direction: int) -> int:
    """Return the place beside a place."""
    step = 1 if direction & 1 else _STRIDE
    return place + step if direction == 1 or direction == 2 else place - step


@helper
def moves_of(own: int, own_below: int, other: int, other_below: int) -> Moves:
    """Return the pieces that can move up, right, down and left, in the upper half and in the lower.

    A piece moves onto a piece of the opponent beside it.
    """
    return (
        own & other << _STRIDE,
        own & other >> 1,
        own & (other >> _STRIDE | other_below << _LAST),
        own & other << 1,
        own_below & (other_below << _STRIDE | other >> _LAST),
        own_below & other_below >> 1,
        own_below & other_below >> _STRIDE,
        own_below & other_below << 1,
    )


@helper
def moves_on(board: Board, player: int) -> Moves:
    """Return the moves of a player."""
    own, other = _PIECES + 2 * (player - 1), _PIECES + 2 * (2 - player)
    return moves_of(board[own], board[own + 1], board[other], board[other + 1])


@helper
def add(board: Board, player: int, place: int) -> None:
    """Put a piece of a player on an empty cell, or take it back."""
    upper, lower = words_of(place)
    board[_PIECES + 2 * player - 2] ^= upper
    board[_PIECES + 2 * player - 1] ^= lower


@helper
def beside(upper: int, lower: int) -> tuple[int, int]:
    """Return the places beside those of two words, some of them off the board."""
    around = upper << _STRIDE | upper >> _STRIDE | upper << 1 | upper >> 1 | lower << _LAST
    around_below = lower << _STRIDE | lower >> _STRIDE | lower << 1 | lower >> 1 | upper >> _LAST
    return around, around_below


@helper
def set_stuck(board: Board) -> bool:
    """Move the pieces that are connected with no opponent to their words; tell if all are."""
    two, two_below = board[_PIECES + 2], board[_PIECES + 3]
    occupied, occupied_below = board[_PIECES] | two, board[_PIECES + 1] | two_below
    around, around_below = beside(board[_PIECES], board[_PIECES + 1])
    found, found_below = around & two, around_below & two_below
    before, before_below = 0, 0
    while found != before or found_below != before_below:
        before, before_below = found, found_below
        around, around_below = beside(found, found_below)
        found |= around & occupied
        found_below |= around_below & occupied_below
    for word in range(4):
        pieces, kept = board[_PIECES + word], found_below if word & 1 else found
        board[_PIECES + word] = pieces & kept
        board[_STUCK + word] |= pieces & ~kept
    return found | found_below == 0


@helper
def total(up: int, right: int, down: int, left: int) -> int:
    """Return the number of moves of a half."""
    return count(up) + count(right) + count(down) + count(left)


@helper
def nth_move(up: int, right: int, down: int, left: int, n: int) -> tuple[int, int]:
    """Return the place in a half and the direction of its n-th move, counted from 0."""
    direction, pieces = 0, up
    if n >= count(up):
        n -= count(up)
        direction, pieces = 1, right
        if n >= count(right):
            n -= count(right)
            direction, pieces = 2, down
            if n >= count(down):
                n -= count(down)
                direction, pieces = 3, left
    return nth(pieces, n), direction


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    columns, moves = board[_COLUMNS], moves_on(board, board[0])
    n = 0
    for half in (0, 4):
        pieces = moves[half] | moves[half + 1] | moves[half + 2] | moves[half + 3]
        while pieces:
            bit = pieces & -pieces
            pieces ^= bit
            place = lowest(bit) + (_HALF if half else 0)
            for direction in range(4):
                if moves[half + direction] & bit:
                    actions[n] = (place // _STRIDE * columns + place % _STRIDE) * 4 + direction
                    n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player, cell = board[0], action >> 2
    row = cell * board[_RECIPROCAL] >> 16  # cell // columns, exact for every cell
    place = row * _STRIDE + cell - row * board[_COLUMNS]
    target = after(place, action & 3)
    add(board, player, place)
    add(board, player, target)
    add(board, 3 - player, target)
    board[0] = 3 - player
    if set_stuck(board):
        board[1] = player


# Components, connected pieces of both players, are independent of each other: their values add up
# (Albert, Grossman, Nowakowski & Wolfe 2005, An Introduction to Clobber). Two pieces are a star.
# Three are a star if the piece in the middle is alone among opponents, otherwise an up for the
# player who has the middle. Two stars cancel each other, and so do ups of both players.


@helper
def around(cells: int) -> int:
    """Return the places beside those of the upper word."""
    return cells << _STRIDE | cells >> _STRIDE | cells << 1 | cells >> 1


@helper
def touched(cells: int) -> tuple[int, int]:
    """Return the places beside two cells or more of the upper word, and beside three or more."""
    up, right, down, left = cells << _STRIDE, cells >> 1, cells >> _STRIDE, cells << 1
    twice = (up | down) & (right | left) | up & down | right & left
    return twice, up & down & (right | left) | right & left & (up | down)


@helper
def cancelled(board: Board) -> tuple[int, int, int]:
    """Return pieces that cancel each other, and the stars and the ups of player 1 that are left.

    There are none while pieces are below the fifth row.
    """
    dropped = star = ups = waiting = 0
    if board[_PIECES + 1] | board[_PIECES + 3]:
        return dropped, star, ups
    one = board[_PIECES]
    pieces = one | board[_PIECES + 2]
    twice, thrice = touched(pieces)
    ends = pieces & ~twice
    rest = pieces & touched(ends)[0] & ~thrice | ends & around(ends)
    while rest:
        bit = rest & -rest
        component = bit | around(bit) & pieces
        rest &= ~component
        own = one if bit & one else pieces ^ one
        if component & own == bit:
            if star:
                dropped |= star | component
            star = 0 if star else component
        else:
            lead = 1 if bit & one else -1
            if ups * lead < 0:
                other = waiting & -waiting
                other |= around(other) & waiting
                other |= around(other) & waiting
                waiting ^= other
                dropped |= other | component
            else:
                waiting |= component
            ups += lead
    return dropped, int(star != 0), ups


@kernel
def sensible(board: Board, actions: Vector) -> int:
    """Write the actions, without those of pieces that cancel each other; one if all do."""
    n = legal(board, actions)
    dropped = cancelled(board)[0]
    kept = 0
    for i in range(n if dropped else 0):
        cell = actions[i] >> 2
        row = cell * board[_RECIPROCAL] >> 16
        if not dropped >> row * _STRIDE + cell - row * board[_COLUMNS] & 1:
            actions[kept] = actions[i]
            kept += 1
    return max(1, kept) if dropped else n


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, columns = board[0], board[_COLUMNS]
    first, second = _PIECES + 2 * (player - 1), _PIECES + 2 * (2 - player)
    own, own_below = board[first], board[first + 1]
    other, other_below = board[second], board[second + 1]
    state = rng[0]
    ply = 0
    while True:
        moves = moves_of(own, own_below, other, other_below)
        n = total(moves[0], moves[1], moves[2], moves[3])
        below_n = total(moves[4], moves[5], moves[6], moves[7])
        if n + below_n == 0:
            break
        state += GAMMA
        pick = below(state, n + below_n)
        if pick < n:
            place, direction = nth_move(moves[0], moves[1], moves[2], moves[3], pick)
        else:
            place, direction = nth_move(moves[4], moves[5], moves[6], moves[7], pick - n)
            place += _HALF
        trace[ply] = (place // _STRIDE * columns + place % _STRIDE) * 4 + direction
        ply += 1
        upper, lower = words_of(place)
        own ^= upper
        own_below ^= lower
        upper, lower = words_of(after(place, direction))
        own |= upper
        own_below |= lower
        other ^= upper
        other_below ^= lower
        own, other, own_below, other_below = other, own, other_below, own_below
        player = 3 - player
    rng[0] = state
    board[0] = player
    board[1] = 3 - player
    board[_PIECES:_STUCK] = 0
    first, second = _STUCK + 2 * (player - 1), _STUCK + 2 * (2 - player)
    board[first] |= own
    board[first + 1] |= own_below
    board[second] |= other
    board[second + 1] |= other_below
    return ply


@helper
def write_pieces(board: Board, state: Vector, stuck: int, dropped: int) -> None:
    """Write the player, the outcome and the cells but those of the upper word that are dropped.

    If `stuck` is 0, pieces that are stuck are left out as well.
    """
    state[:2] = board[:2]
    columns = board[_COLUMNS]
    for row in range(board[_ROWS]):
        for column in range(columns):
            place = row * _STRIDE + column
            word = _PIECES + (place >= _HALF)
            place -= _HALF * (place >= _HALF)
            gone = 0 if word > _PIECES else dropped
            first = (board[word] | stuck * board[word + 4]) & ~gone
            second = (board[word + 2] | stuck * board[word + 6]) & ~gone
            state[2 + row * columns + column] = (first >> place & 1) + 2 * (second >> place & 1)


@kernel
def write(board: Board, state: Vector) -> None:
    write_pieces(board, state, 1, 0)


@helper
def movable(board: Board, player: int, dropped: int) -> int:
    """Return the number of pieces of a player that can move, but for those that are dropped."""
    moves = moves_on(board, player)
    n = count((moves[0] | moves[1] | moves[2] | moves[3]) & ~dropped)
    return n + count(moves[4] | moves[5] | moves[6] | moves[7])


@kernel
def observe(board: Board, observed: Vector) -> None:
    """Write the pieces that count, leads in movable pieces and ups, and a star for who moves."""
    end = len(observed) - 3
    dropped, star, ups = cancelled(board)
    write_pieces(board, observed[:end], 0, dropped)
    lead = movable(board, 1, dropped) - movable(board, 2, dropped)
    observed[end] = bounded(lead)
    observed[end + 1] = LEVEL + ups
    observed[end + 2] = LEVEL + star * (3 - 2 * board[0])


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[_PIECES:] = 0
    columns = board[_COLUMNS]
    for row in range(board[_ROWS]):
        for column in range(columns):
            cell = state[2 + row * columns + column]
            if cell == 1 or cell == 2:
                add(board, cell, row * _STRIDE + column)
    set_stuck(board)


class Clobber(GridGame):
    """Move onto a neighbouring piece of the opponent; a player without a move loses."""

    about = (
        "Pieces of both players fill the board like the colours of a chessboard. A move takes one "
        "of your own pieces onto a piece of the opponent beside it, left, right, above or below, "
        "which is removed. There are no other moves. The player who makes the last move wins."
    )
    groups = ("capture",)
    first_steps = (
        "Click one of your pieces, then a piece of the opponent beside it. You win by making the "
        "last move. A piece without a piece of the opponent beside it cannot move, so try to keep "
        "some moves that only you can make."
    )
    variants: ClassVar = {
        "rows=4,columns=5": "A short match.",
        "rows=10,columns=10": "The board of computer tournaments.",
    }

    look: ClassVar = {"piece": "disc"}

    kernels = Kernels(legal, play, playout, write, read, sensible=sensible, observe=observe)
    sorts_sensible = False
    features = (0.02, 0.3, 0.1)
    shapes = (((0, 1), (1, 0), (1, 1), (1, 2), (2, 1)),)  # a piece and its neighbours
    exchange = "same"

    def __init__(
        self,
        rows: Annotated[int, Option("of the board", ge=1, le=MAX_SIDE)] = 5,
        columns: Annotated[int, Option("of the board", ge=2, le=MAX_SIDE)] = 6,
    ) -> None:
        self.rows, self.columns = rows, columns
        cells = rows * columns
        places = (divmod(cell, columns) for cell in range(cells))
        first = (1 + (rows - 1 - row + column) % 2 for row, column in places)
        super().__init__(
            {_ROWS: rows, _COLUMNS: columns, _RECIPROCAL: (1 << 16) // columns + 1},
            (1, 0, *first),
            board=_STUCK + 4,
            state=2 + cells,
            actions=4 * cells,
            plies=cells - 1,
            earlier=4,
        )

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells from which and to which it moves a piece."""
        return cells_of_moves(self.rows, self.columns, _STEPS)
