"""Four in a square: four stones on two by two cells win. Actions are the cells, row by row."""

from __future__ import annotations

from playout.games import Board, GridGame, Kernels, Vector, helper, kernel
from playout.games.core.bits import owners_codec, write_bits
from playout.games.core.kernels import inlined
from playout.games.core.random import Rng, shuffled_playout

SIDE = 4
CELLS = SIDE * SIDE
FULL = (1 << CELLS) - 1
#: The cells that can be the upper left one of a square.
CORNERS = sum(1 << row * SIDE + column for row in range(SIDE - 1) for column in range(SIDE - 1))

# board: player, outcome, stones of player 1 and of player 2: cell c is bit c.


@helper
def has_square(stones: int) -> bool:
    """Return whether there are stones on all four cells of a square."""
    pairs = stones & stones >> 1
    return pairs & pairs >> SIDE & CORNERS != 0


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    return write_bits(FULL & ~(board[2] | board[3]), 0, actions, 0)


@inlined
def put(board: Board, player: int, action: int) -> bool:
    """Put a stone, and return whether it wins."""
    board[1 + player] |= 1 << action
    return has_square(board[1 + player])


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


class FourInASquare(GridGame):
    """Put four stones on a square of two by two cells."""

    about = (
        "Players take turns to put a stone on an empty cell of a board of four by four. The first "
        "player with stones on all four cells of a square of two by two wins; a full board "
        "without such a square is a tie."
    )
    first_steps = (
        "Click an empty cell. You win with four stones on a square of two by two cells. Stones in "
        "the middle belong to four squares each."
    )

    rows = columns = SIDE

    kernels = Kernels(legal, play, playout, *owners_codec(range(CELLS)))

    def __init__(self) -> None:
        super().__init__(board=4, state=2 + CELLS, actions=CELLS, plies=CELLS)
