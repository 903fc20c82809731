"""Checkers, or English draughts, with the actions and the rules of OpenSpiel.

Action = ((row * 8 + column) * 4 + direction) * 2 + capture, where row and column are those of the
piece that moves, and the directions are up left, up right, down right, down left. A jump captures
one piece; if the same piece can jump again, the player moves again, with that piece. Forty plies in
a row without a capture are a tie.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from playout.games import Board, Kernels, State, Vector, helper, kernel
from playout.games.core.bits import count, lowest, without_lowest, write_owners
from playout.games.core.grid import JumpingGame, PlacedFen, cells_of_moves
from playout.games.core.kernels import LEVEL, bounded
from playout.games.core.pdn import placed_numbers
from playout.games.core.random import GAMMA, Rng, below
from playout.games.core.symmetries import identity

SIDE = 8
CELLS = SIDE * SIDE
DIRECTIONS = 4
ACTIONS = CELLS * DIRECTIONS * 2
#: Plies without a capture after which the game is a tie.
QUIET_PLIES = 40
#: Each of at most 23 captures begins another QUIET_PLIES; OpenSpiel gives the same bound.
PLIES = 1000

# board: player, outcome, pieces of player 1, pieces of player 2, kings of both, the piece that must
# jump again, plies without a capture. Sets of cells are words: cell (row, column) is bit
# 8 * row + column. Only dark cells are used, so bit 63 is never set and a word is not negative. A
# diagonal step from the edge of the board leads to a light cell, and a test for dark cells excludes
# it.
_KINGS, _JUMPER, _QUIET = 4, 5, 6
_DARK = sum(1 << cell for cell in range(CELLS) if (cell // SIDE + cell) % 2)
_TOP, _BOTTOM = 0xFF, 0x7F << 56
#: Rows down and columns to the right of a step in each direction, and the difference of its bits.
_DIRECTIONS = ((-1, -1), (-1, 1), (1, 1), (1, -1))
_STEPS = np.array([SIDE * down + right for down, right in _DIRECTIONS])

# state: the cells (0 empty, 1 and 2 men of the players, 3 and 4 kings), then the cell of the piece
# that must jump again or NO_PIECE, and the plies without a capture.
NO_PIECE = -1


@helper
def movable(board: Board) -> tuple[tuple[int, int, int, int], int]:
    """Return the pieces that can move in each direction, and 1 if they capture, otherwise 0."""
    player = board[0]
    own, other, kings = board[1 + player], board[4 - player], board[_KINGS]
    empty = _DARK & ~(own | other)
    if board[_JUMPER]:
        own = board[_JUMPER]
    up = own if player == 1 else own & kings
    down = own if player == 2 else own & kings
    jumps = (
        up & (other & empty << 9) << 9,
        up & (other & empty << 7) << 7,
        down & (other & empty >> 9) >> 9,
        down & (other & empty >> 7) >> 7,
    )
    if jumps[0] | jumps[1] | jumps[2] | jumps[3]:
        return jumps, 1
    return (up & empty << 9, up & empty << 7, down & empty >> 9, down & empty >> 7), 0


@helper
def advance(board: Board, cell: int, direction: int, capture: int) -> None:
    """Move a piece. That the next player cannot move is left to the caller."""
    player = board[0]
    step = _STEPS[direction]
    piece = 1 << cell
    target = 1 << cell + step * (1 + capture)
    is_king = board[_KINGS] & piece != 0
    crowned = not is_king and target & (_TOP if player == 1 else _BOTTOM) != 0
    board[1 + player] ^= piece | target
    if is_king:
        board[_KINGS] ^= piece | target
    elif crowned:
        board[_KINGS] |= target
    board[_JUMPER] = 0
    board[_QUIET] += 1
    if capture:
        jumped = 1 << cell + step
        board[4 - player] &= ~jumped
        board[_KINGS] &= ~jumped
        board[_QUIET] = 0
        if not crowned:
            board[_JUMPER] = target
            if movable(board)[1]:
                return
            board[_JUMPER] = 0
    elif board[_QUIET] >= QUIET_PLIES:
        board[1] = -1
    board[0] = 3 - player


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    moves, capture = movable(board)
    pieces = moves[0] | moves[1] | moves[2] | moves[3]
    n = 0
    while pieces:
        cell = lowest(pieces)
        pieces = without_lowest(pieces)
        for direction in range(DIRECTIONS):
            if moves[direction] >> cell & 1:
                actions[n] = (cell * DIRECTIONS + direction) * 2 + capture
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    advance(board, action >> 3, action >> 1 & 3, action & 1)
    if board[1] == 0:
        moves, _ = movable(board)
        if moves[0] | moves[1] | moves[2] | moves[3] == 0:
            board[1] = 3 - board[0]


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply = 0
    state = rng[0]
    while board[1] == 0:
        moves, capture = movable(board)
        n = count(moves[0]) + count(moves[1]) + count(moves[2]) + count(moves[3])
        if n == 0:
            board[1] = 3 - board[0]
            break
        state += GAMMA
        pick = below(state, n)
        direction = 0
        while pick >= count(moves[direction]):
            pick -= count(moves[direction])
            direction += 1
        pieces = moves[direction]
        for _ in range(pick):
            pieces = without_lowest(pieces)
        cell = lowest(pieces)
        trace[ply] = (cell * DIRECTIONS + direction) * 2 + capture
        ply += 1
        advance(board, cell, direction, capture)
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    write_owners(board[2], board[3], SIDE, SIDE, state[2 : 2 + CELLS])
    for cell in range(CELLS):
        state[2 + cell] += 2 * (board[_KINGS] >> cell & 1)
    state[2 + CELLS] = lowest(board[_JUMPER]) if board[_JUMPER] else NO_PIECE
    state[3 + CELLS] = board[_QUIET]


@helper
def nearness(kings: int, pieces: int) -> int:
    """Return how near kings are to some pieces: 6 for a king beside one, 5 for one step more."""
    found, around = 0, pieces
    for each in range(6, 0, -1):
        around |= (around << 9 | around << 7 | around >> 9 | around >> 7) & _DARK
        found += each * count(kings & around)
        kings &= ~around
    return found


@helper
def lead_in_moves(first: int, second: int, kings: int) -> int:
    """Return by how many steps to empty cells player 1 is ahead."""
    empty = _DARK & ~(first | second)
    lead = count(first & empty << 9) + count(first & empty << 7)
    lead += count(first & kings & empty >> 9) + count(first & kings & empty >> 7)
    lead -= count(second & empty >> 9) + count(second & empty >> 7)
    return lead - count(second & kings & empty << 9) - count(second & kings & empty << 7)


@helper
def lead_in_free_men(first: int, second: int, kings: int) -> int:
    """Return the lead of player 1 in men that no piece can stop; they count more near the end."""
    before, before_2 = second, first
    for _ in range(SIDE - 1):
        before |= (before << 9 | before << 7) & _DARK
        before_2 |= (before_2 >> 9 | before_2 >> 7) & _DARK
    men, men_2 = first & ~(kings | before), second & ~(kings | before_2)
    lead = count(men) - count(men_2)
    for cells in range(2 * SIDE, CELLS, 2 * SIDE):
        lead += count(men & (1 << cells) - 1) - count(men_2 >> CELLS - cells)
    return lead


@kernel
def observe(board: Board, observed: Vector) -> None:
    """Write the state, then in five numbers how far player 1 is ahead.

    A lead in pieces counts more if there are fewer of them, and less the nearer a tie is; the third
    number is what it loses by that. The second is how near the leader's kings are to other pieces.
    The last two are leads in moves and in free men.
    """
    end, first, second, kings = len(observed) - 5, board[2], board[3], board[_KINGS]
    write(board, observed[:end])
    one, two = 2 * count(first) + count(first & kings), 2 * count(second) + count(second & kings)
    leader, other, sign = (first, second, 1) if one > two else (second, first, -1)
    lead, left = abs(one - two), QUIET_PLIES - board[_QUIET]
    near = nearness(leader & kings, other) if lead else 0
    observed[end] = bounded(sign * (lead * (LEVEL - 1) * left // ((one + two) * QUIET_PLIES)))
    observed[end + 1] = bounded(sign * near)
    observed[end + 2] = bounded(sign * (lead * board[_QUIET] // 16))
    observed[end + 3] = bounded(lead_in_moves(first, second, kings))
    observed[end + 4] = bounded(lead_in_free_men(first, second, kings))


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2:] = 0
    for cell in range(CELLS):
        piece = state[2 + cell]
        if _DARK >> cell & 1 and 1 <= piece <= 4:
            board[2 + (piece - 1) % 2] |= 1 << cell
            board[_KINGS] |= (piece - 1) // 2 << cell
    jumper = state[2 + CELLS]
    if 0 <= jumper < CELLS - 1:
        board[_JUMPER] = board[1 + board[0]] & 1 << jumper
    board[_QUIET] = state[3 + CELLS]


def number(cell: int) -> str:
    """Return the number of a dark square; player 1 has the men on 1 to 12."""
    return str((CELLS - cell + 1) // 2)


LABELS = tuple(number(cell) if _DARK >> cell & 1 else "" for cell in range(CELLS))


class Checkers(JumpingGame):
    """Jump over the opponent's pieces to capture them; a player who cannot move loses."""

    about = (
        "Men move one square diagonally forward. A man that reaches the far row becomes a king, "
        "which moves backwards too. A piece captures a piece of the opponent next to it by jumping "
        "over it onto the empty square behind, and jumps again as long as it can; a man that "
        "becomes a king stops. A player who can capture must do so. A player who cannot move "
        "loses; forty moves in a row without a capture are a tie. Each jump is a separate move."
    )
    groups = ("classics", "capture")
    first_steps = (
        "Click a piece, then the square to which it moves or jumps; of several jumps, the last "
        "square is enough. Only captures are offered while you can capture. You win when the "
        "opponent has no pieces or cannot move. Keep your men on the back row for as long as you "
        "can: while they stand there, the opponent gets no king."
    )

    rows = columns = SIDE
    symmetries = (identity(CELLS, ACTIONS),)  # half a turn exchanges the players
    pieces = ((0, ""), (1, "man"), (2, "man"), (1, "king"), (2, "king"))
    material: ClassVar = {"man": 1, "king": 1.5}
    look: ClassVar = {
        "piece": "disc",
        "surface": "checkered",
        "dark_begins": True,
        "cell_labels": LABELS,
    }
    row_names = ()

    kernels = Kernels(legal, play, playout, write, read, observe=observe)
    features = (0.06, 0.01, -0.03, 0.01, 0.03)
    shapes = (
        ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4)),
        ((0, 4), (1, 3), (2, 2), (3, 1), (4, 0)),
        tuple((0, column) for column in range(SIDE)),
        tuple((row, column) for row in range(2) for column in range(5)),
    )
    exchange = "turned"
    first_colour = "B"

    def __init__(
        self,
        fen: PlacedFen = None,
    ) -> None:
        usual = [0] * CELLS
        for cell in (cell for cell in range(CELLS) if _DARK >> cell & 1):
            usual[cell] = 2 if cell < 3 * SIDE else 1 if cell >= 5 * SIDE else 0
        player, cells = self.placed(usual, fen)
        quiet = placed_numbers(self, fen, QUIET_PLIES)
        super().__init__(
            first=(player, 0, *cells, NO_PIECE, quiet),
            board=7,
            state=4 + CELLS,
            actions=ACTIONS,
            plies=PLIES,
        )
        self.require_moves(fen)

    def action_name(self, state: State, action: int) -> str:
        return "-x"[action & 1].join(map(self.cell_name, self.action_cells[action]))

    def cell_name(self, cell: int) -> str:
        return number(cell)

    def square_number(self, cell: int) -> str:
        return number(cell)

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells from which and to which it moves a piece."""
        steps = [(down * by, right * by) for down, right in _DIRECTIONS for by in (1, 2)]
        return cells_of_moves(SIDE, SIDE, steps)

    def note(self, state: State) -> str:
        jumper, quiet = state[2 + CELLS], state[3 + CELLS]
        if jumper != NO_PIECE:
            return f"{number(jumper)} must jump again"
        late = f"{quiet} of {QUIET_PLIES} moves without a capture"
        return late if quiet >= QUIET_PLIES // 2 else ""
