"""Othello. Actions are the cells, row by row, and size² is a pass, as in OpenSpiel.

The game ends when neither player can move, or with passes=false, an older rule, as soon as the
player to move cannot. The player with more discs wins.

Boards up to 8x8 are words of bits; larger ones have a word a row, with functions of their own.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from playout.games import (
    Board,
    GridGame,
    Kernels,
    Option,
    SpecError,
    State,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import (
    bit_of,
    cell_of,
    count,
    grid,
    lowest,
    nth,
    read_owners,
    write_bits,
    write_owners,
)
from playout.games.core.kernels import at, outcome_of, uncompiled
from playout.games.core.random import GAMMA, Rng, below

# board: player, outcome, discs of player 1, discs of player 2, size, 1 if players pass, the cells
# in play. Discs are the bits of a word, eight per row for every size: cell (row, column) is bit
# 8 * row + column. Words are stored as int64 and processed as uint64.
#
# Boards above 8x8 have other words behind these seven: the moves of the player to move, four rows
# in a word with 16 bits each, and a word for each row of player 1 and of player 2, between empty
# ones. Column c is bit c of a row.
SIZE, PASSES, CELLS, MOVES = 4, 5, 6, 7

MAX_SIDE = 16
#: The largest side whose cells are bits of a word.
SMALL = 8
#: The first row of player 1, and the number of words for the rows of a player.
FIRST, HEIGHT = MOVES + 5, MAX_SIDE + 2

_0, _1, _16 = np.uint64(0), np.uint64(1), np.uint64(16)
#: The step in each direction, and the cells that a line may cross without leaving its row.
_STEPS = tuple(np.uint64(step) for step in (1, 8, 7, 9))
_INNER = np.uint64(0x7E7E7E7E7E7E7E7E)
#: On boards above 8x8, the cells of four rows without the first and the last column.
_MIDDLE = np.uint64(0x7FFE7FFE7FFE7FFE)


@helper
def run_up(begin: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the `crossed` discs that follow `begin` without a gap, towards the higher bits.

    Parallel prefix: the first two lines find runs of two; each later line adds two more.
    """
    run = crossed & begin << step
    run |= crossed & run << step
    pairs = crossed & crossed << step
    run |= pairs & run << (step + step)
    run |= pairs & run << (step + step)
    return run


@helper
def run_down(begin: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the `crossed` discs that follow `begin` without a gap, towards the lower bits."""
    run = crossed & begin >> step
    run |= crossed & run >> step
    pairs = crossed & crossed >> step
    run |= pairs & run >> (step + step)
    run |= pairs & run >> (step + step)
    return run


@helper
def line_moves(own: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the cells at the end of a run of `crossed` next to `own`, in both directions."""
    return run_up(own, crossed, step) << step | run_down(own, crossed, step) >> step


@helper
def mobility(own: np.uint64, other: np.uint64, cells: np.uint64) -> np.uint64:
    """Return the cells where `own` may put a disc."""
    inner = other & _INNER
    moves = line_moves(own, inner, _STEPS[0])
    moves |= line_moves(own, other, _STEPS[1])
    moves |= line_moves(own, inner, _STEPS[2])
    moves |= line_moves(own, inner, _STEPS[3])
    return moves & cells & ~(own | other)


@helper
def line_flips(disc: np.uint64, own: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the discs between `disc` and the nearest disc of `own`, in two directions."""
    up = run_up(disc, crossed, step)
    down = run_down(disc, crossed, step)
    if up << step & own == _0:
        up = _0
    if down >> step & own == _0:
        down = _0
    return up | down


@helper
def flips(disc: np.uint64, own: np.uint64, other: np.uint64) -> np.uint64:
    """Return the discs that change sides when `own` puts `disc`."""
    inner = other & _INNER
    return (
        line_flips(disc, own, inner, _STEPS[0])
        | line_flips(disc, own, other, _STEPS[1])
        | line_flips(disc, own, inner, _STEPS[2])
        | line_flips(disc, own, inner, _STEPS[3])
    )


@helper
def set_outcome(board: Board) -> None:
    """Set the outcome of a board if the game is over."""
    own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
    cells = np.uint64(board[CELLS])
    if mobility(own, other, cells):
        return
    if not board[PASSES] or not mobility(other, own, cells):
        board[1] = outcome_of(count(board[2]) - count(board[3]))


# Boards above 8x8.


@helper
def row_of(player: int, row: int) -> int:
    """Return the index of a row of a player's discs."""
    return FIRST + (player - 1) * HEIGHT + row


@helper
def find_below(board: Board, player: int, way: int) -> None:
    """Add the moves below discs of the opponent that are below one of the player.

    The rows are passed from the first to the last, or with -1 as the `way` in reverse.
    """
    size = board[SIZE]
    row = 0 if way == 1 else size - 1
    own = left = middle = right = 0
    for _ in range(size):
        ends = (left >> 1 | middle | right << 1) & 0xFFFF
        board[MOVES + (row >> 2)] |= ends << 16 * (row & 3)
        other = at(board, row_of(3 - player, row))
        left = (left | own) >> 1 & other
        middle = (middle | own) & other
        right = (right | own) << 1 & other
        own = at(board, row_of(player, row))
        row += way


@helper
def find_beside(own: np.uint64, other: np.uint64) -> np.uint64:
    """Return the ends of runs of `other` beside `own`, for four rows."""
    crossed = other & _MIDDLE
    ends = crossed + (own << _1 & crossed)  # the sum carries through the run
    run, step = crossed & own >> _1, _1
    for _ in range(4):
        run |= crossed & run >> step
        crossed &= crossed >> step
        step += step
    return ends | run >> _1


@helper
def find_moves(board: Board, player: int) -> int:
    """Write the cells where a player may put a disc; return how many they are."""
    size = board[SIZE]
    for word in range(4):
        board[MOVES + word] = 0
    find_below(board, player, 1)
    find_below(board, player, -1)
    n = 0
    for word in range(size + 3 >> 2):
        own = other = _0
        for row in range(4 * word + 3, 4 * word - 1, -1):
            own = own << _16 | np.uint64(at(board, row_of(player, row)))
            other = other << _16 | np.uint64(at(board, row_of(3 - player, row)))
        moves = np.uint64(board[MOVES + word]) | find_beside(own, other)
        moves &= np.uint64(board[CELLS]) & ~(own | other)
        board[MOVES + word] = np.int64(moves)
        n += count(moves)
    return n


@helper
def nth_move(board: Board, n: int) -> int:
    """Return the bit of the n-th move, counted from 0; a row has 16 bits."""
    word = 0
    moves = count(board[MOVES])
    while n >= moves:
        n -= moves
        word += 1
        moves = count(board[MOVES + word])
    return 64 * word + nth(board[MOVES + word], n)


@helper
def put_disc(board: Board, player: int, bit: int) -> None:
    """Put a disc of a player, and turn the enclosed discs."""
    own, other = row_of(player, bit >> 4), row_of(3 - player, bit >> 4)
    disc = 1 << (bit & 15)
    for down in range(-1, 2):
        for right in range(-1, 2):
            n, cell = 1, disc << 1 + right >> 1
            while board[other + n * down] & cell:
                n += 1
                cell = cell << 1 + right >> 1
            if n > 1 and board[own + n * down] & cell:
                while n > 1:
                    n -= 1
                    cell = cell << 1 >> 1 + right
                    board[own + n * down] |= cell
                    board[other + n * down] ^= cell
    board[own] |= disc


@helper
def end(board: Board) -> None:
    """Set the outcome of a match that is over."""
    lead = 0
    for row in range(board[SIZE]):
        lead += count(board[row_of(1, row)]) - count(board[row_of(2, row)])
    board[1] = outcome_of(lead)


@helper
def play_large(board: Board, action: int) -> None:
    """Play a move or a pass, and set the outcome if the game is over."""
    player, size = board[0], board[SIZE]
    if action < size * size:
        put_disc(board, player, action // size * 16 + action % size)
    board[0] = mover = 3 - player
    n = 0
    for _ in range(1 + board[PASSES]):
        n = find_moves(board, mover)
        if n:
            break
        mover = 3 - mover
    if n == 0:
        end(board)
    elif mover == player:
        for word in range(4):
            board[MOVES + word] = 0


@helper
def playout_large(board: Board, rng: Rng, trace: Vector) -> int:
    """Play random moves to the end; return their number."""
    player, size = board[0], board[SIZE]
    state = rng[0]
    ply = n = 0
    for word in range(4):
        n += count(board[MOVES + word])
    passed = False
    while n or (board[PASSES] and not passed):
        trace[ply] = size * size
        passed = n == 0
        if n:
            state += GAMMA
            bit = nth_move(board, below(state, n))
            trace[ply] = (bit >> 4) * size + (bit & 15)
            put_disc(board, player, bit)
        ply += 1
        player = 3 - player
        n = find_moves(board, player)
    if passed:  # the match was over before
        ply -= 1
        player = 3 - player
    rng[0] = state
    board[0] = player
    end(board)
    return ply


# The kernels, for boards of all sizes.


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    size = board[SIZE]
    n = 0
    if size > SMALL:
        for row in range(size):
            ends = board[MOVES + (row >> 2)] >> 16 * (row & 3) & 0xFFFF
            n = write_bits(ends, row * size, actions, n)
    else:
        own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
        moves = mobility(own, other, np.uint64(board[CELLS]))
        while moves:
            bit = lowest(moves)
            moves &= moves - _1
            actions[n] = cell_of(bit, size)
            n += 1
    if n == 0:
        actions[0] = size * size
        n = 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    size = board[SIZE]
    if size > SMALL:
        play_large(board, action)
        return
    board[0] = 3 - player
    if action == size * size:
        return
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    disc = _1 << np.uint64(bit_of(action, size))
    turned = flips(disc, own, other)
    board[1 + player] = np.int64(own | disc | turned)
    board[4 - player] = np.int64(other & ~turned)
    set_outcome(board)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, size = board[0], board[SIZE]
    if size > SMALL:
        return playout_large(board, rng, trace)
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    cells = np.uint64(board[CELLS])
    state = rng[0]
    ply = 0
    moves = mobility(own, other, cells)
    while True:
        if moves:
            state += GAMMA
            bit = nth(moves, below(state, count(moves)))
            disc = _1 << np.uint64(bit)
            trace[ply] = cell_of(bit, size)
            turned = flips(disc, own, other)
            own |= disc | turned
            other &= ~turned
        else:
            trace[ply] = size * size
        ply += 1
        own, other = other, own
        player = 3 - player
        moves = mobility(own, other, cells)
        if not moves and (not board[PASSES] or not mobility(other, own, cells)):
            break
    rng[0] = state
    board[0] = player
    board[1 + player], board[4 - player] = np.int64(own), np.int64(other)
    board[1] = outcome_of(count(board[2]) - count(board[3]))
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    size = board[SIZE]
    if size > SMALL:
        for cell in range(size * size):
            row, column = cell // size, cell % size
            first, second = board[row_of(1, row)], board[row_of(2, row)]
            state[2 + cell] = (first >> column & 1) + 2 * (second >> column & 1)
    else:
        write_owners(board[2], board[3], size, 8, state[2:])


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    size = board[SIZE]
    if size > SMALL:
        board[FIRST:] = 0
        for cell in range(size * size):
            owner = state[2 + cell]
            if 1 <= owner <= 2:
                board[row_of(owner, cell // size)] |= 1 << cell % size
        find_moves(board, board[0])
    else:
        board[2], board[3] = read_owners(state[2:], size, 8)


class Othello(GridGame):
    """Enclose the opponent's discs to turn them; the player with more at the end wins."""

    about = (
        "A disc must be put where it encloses discs of the opponent in a straight line, in any of "
        "the eight directions, between itself and another disc of its own colour; all enclosed "
        "discs change sides. A player who cannot do so passes. When neither player can, the game "
        "is over, and the player with more discs wins."
    )
    groups = ("classics", "territory")
    first_steps = (
        "Click one of the marked cells. You win with more discs when neither player can move. A "
        "disc in a corner can never be turned, so take corners, and avoid the cells next to an "
        "empty one. Until late in a match, many possible moves are worth more than many discs."
    )
    variants: ClassVar = {
        "size=6": "A short match.",
        "size=10": "A longer match on the board of Grand Othello.",
        "passes=false": "The game is over as soon as a player cannot move.",
    }

    look: ClassVar = {"piece": "disc", "surface": "green"}
    pass_name = "pass"
    sgf_number = 2

    exchange = "same"

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self,
        size: Annotated[
            int, Option("rows and columns of the board, an even number", ge=4, le=MAX_SIDE)
        ] = 8,
        passes: Annotated[
            bool, Option("false: the game is over as soon as a player cannot move")
        ] = True,
    ) -> None:
        if size % 2:
            raise SpecError(f"othello: size must be an even number, not {size}")
        self.rows = self.columns = size
        cells = size * size
        # There is a move between two passes: two passes in a row would have ended the game.
        plies = 2 * (cells - 4)
        low = size // 2 - 1
        first = [0] * cells
        first[low * size + low + 1] = first[(low + 1) * size + low] = 1
        first[low * size + low] = first[(low + 1) * size + low + 1] = 2
        in_play = uncompiled(grid)(size, size)
        if size > SMALL:
            in_play = ((1 << size) - 1) * 0x0001000100010001
        super().__init__(
            {SIZE: size, PASSES: int(passes), CELLS: in_play},
            (1, 0, *first),
            board=MOVES if size <= SMALL else row_of(3, -1),
            state=2 + cells,
            actions=cells + 1,
            plies=plies,
        )

    def note(self, state: State) -> str:
        first, second = (self.cells(state).count(player) for player in (1, 2))
        return f"discs {first}-{second}"
