"""Pentago: put a stone, then turn a quarter of the board; five in a row win.

Action cell * 8 + quarter * 2 + clockwise, as in OpenSpiel: cells row by row; the quarters are the
upper left one (0) and the others clockwise; clockwise is 1, and 0 for the opposite direction.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from playout.games import Board, GridGame, Kernels, Vector, helper, kernel
from playout.games.core.bits import lowest, owners_codec, write_bits
from playout.games.core.random import GAMMA, Rng, below

SIDE = 6
CELLS = SIDE * SIDE
TURNS = 8

# board: player, outcome, stones of player 1 and of player 2 as words. Each quarter has nine bits:
# its ring clockwise, beginning with a corner, then its middle. To turn it is to rotate its ring by
# two bits.
_RING = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (1, 1))
_QUARTERS = ((0, 0), (0, 3), (3, 3), (3, 0))
_PATTERNS = 1 << len(_RING)

_CELL_OF = np.array([(r + i) * SIDE + c + j for r, c in _QUARTERS for i, j in _RING])
_BIT_OF = np.argsort(_CELL_OF)
_ALL = (1 << CELLS) - 1


def _lines() -> list[int]:
    """Return the words of all lines of five."""
    found = []
    for row in range(SIDE):
        for column in range(SIDE):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + n * down, column + n * right) for n in range(5)]
                if all(0 <= each < SIDE for each in line[-1]):
                    found.append(sum(1 << int(_BIT_OF[r * SIDE + c]) for r, c in line))
    return found


def _complete() -> Vector:
    """Return for each quarter and each pattern of stones in it the lines that lack no stone there.

    Lines are bits.
    """
    patterns, found = np.arange(_PATTERNS), np.zeros((len(_QUARTERS), _PATTERNS), dtype=np.int64)
    for quarter, complete in enumerate(found):
        for n, line in enumerate(_lines()):
            part = line >> quarter * len(_RING) & _PATTERNS - 1
            complete |= (patterns & part == part).astype(np.int64) << n
    return found.ravel()


_LINES = np.array(_lines())
_COMPLETE = _complete()
#: For each rotation of the rings by 0 to 7 bits, to which bit it moves each bit.
_ROTATED = np.array(
    [
        bit // 9 * 9 + (bit % 9 + up) % 8 if bit % 9 < 8 else bit
        for up in range(8)
        for bit in range(CELLS)
    ]
)


@helper
def lines(stones: int) -> int:
    """Return the lines of five stones, as bits."""
    found = -1
    for quarter in range(4):
        found &= _COMPLETE[quarter * _PATTERNS + (stones >> 9 * quarter & _PATTERNS - 1)]
    return found


@helper
def rotation(turn: int) -> int:
    """Return by how many bits a turn rotates the ring of its quarter."""
    return 2 if turn & 1 else 6


@helper
def turned(stones: int, turn: int) -> int:
    """Return the stones after a turn: twice the number of a quarter, and 1 more for clockwise."""
    first = 9 * (turn >> 1)
    ring, up = stones >> first & 0xFF, rotation(turn)
    rotated = (ring << up | ring >> (8 - up)) & 0xFF
    return stones & ~(0xFF << first) | rotated << first


@helper
def outcome(first: int, second: int) -> int:
    """Return the outcome of a position with these stones."""
    one, two = lines(first) != 0, lines(second) != 0
    if one != two:
        return 1 if one else 2
    return -1 if one or first | second == _ALL else 0


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    n = 0
    for cell in range(CELLS):
        if (board[2] | board[3]) >> _BIT_OF[cell] & 1 == 0:
            for turn in range(TURNS):
                actions[n + turn] = cell * TURNS + turn
            n += TURNS
    return n


@kernel
def play(board: Board, action: int) -> None:
    turn = action % TURNS
    board[1 + board[0]] |= 1 << _BIT_OF[action // TURNS]
    board[2], board[3] = turned(board[2], turn), turned(board[3], turn)
    board[0] = 3 - board[0]
    board[1] = outcome(board[2], board[3])


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, state = board[0], rng[0]
    own, other = board[1 + player], board[4 - player]
    # The rest of the trace has the empty cells, as their bits before the first turn; `angles` has
    # a byte for each quarter, by how many bits its ring is rotated.
    end = write_bits(_ALL & ~(own | other), 0, trace, 0)
    ply = angles = 0
    while ply < end:
        state += GAMMA
        pick = below(state, (end - ply) * TURNS)
        turn, place = pick % TURNS, ply + pick // TURNS
        bit = trace[place]
        trace[place] = trace[ply]
        bit = _ROTATED[(angles >> 8 * (bit // 9) & 7) * CELLS + bit]
        trace[ply] = _CELL_OF[bit] * TURNS + turn
        ply += 1
        own, other = turned(other, turn), turned(own | 1 << bit, turn)
        angles += rotation(turn) << 8 * (turn >> 1)
        if lines(own) | lines(other):
            break
    rng[0] = state
    board[0] = player if ply % 2 == 0 else 3 - player
    board[1 + board[0]], board[4 - board[0]] = own, other
    board[1] = outcome(board[2], board[3])
    return ply


@helper
def winning_action(board: Board) -> int:
    """Return an action that wins at once, -1 for none."""
    own, other = board[1 + board[0]], board[4 - board[0]]
    for turn in range(TURNS):
        stones, blocked = turned(own, turn), turned(other, turn)
        found = 0
        for line in _LINES:
            missing = line & ~stones
            found |= missing if missing & missing - 1 | missing & blocked == 0 else 0
        if found or lines(stones):
            free = found if found else _ALL & ~(stones | blocked)
            if lines(blocked) == 0:
                cell = _CELL_OF[lowest(turned(free, turn ^ 1))]
                return cell * TURNS + turn
    return -1


@kernel
def forcing(board: Board, actions: Vector) -> int:
    actions[0] = winning_action(board) if board[1] == 0 else -1
    return actions[0] >= 0


@kernel
def sensible(board: Board, actions: Vector) -> int:
    if forcing(board, actions):
        return 1
    # Turns that change nothing lead to one position, and half a turn either way to another.
    own, other = board[1 + board[0]], board[4 - board[0]]
    n = 0
    for cell in range(CELLS if board[1] == 0 else 0):
        stone = 1 << _BIT_OF[cell]
        if (own | other) & stone:
            continue
        still = False
        for quarter in range(0, TURNS, 2):
            one, two = own | stone, other
            half = turned(turned(one, quarter), quarter), turned(turned(two, quarter), quarter)
            whole = turned(one, quarter) == one and turned(two, quarter) == two
            if not (whole and still):
                actions[n] = cell * TURNS + quarter
                n += 1
            still |= whole
            if half != (one, two):
                actions[n] = cell * TURNS + quarter + 1
                n += 1
    return n


#: For each turn, the outer corner of the quarter and the corner to which it is turned.
_CORNERS = tuple(
    tuple(row * SIDE + column for row, column in ends)
    for ends in (
        ((0, 0), (2, 0)),
        ((0, 0), (0, 2)),
        ((0, 5), (0, 3)),
        ((0, 5), (2, 5)),
        ((5, 5), (3, 5)),
        ((5, 5), (5, 3)),
        ((5, 0), (5, 2)),
        ((5, 0), (3, 0)),
    )
)


class Pentago(GridGame):
    """Put a stone and turn a quarter of the board; five in a row win."""

    about = (
        "In turn, a player puts a stone on an empty cell, and then turns one of the four quarters "
        "of the board by 90 degrees. Five stones in a row, in any direction, win, whoever turned "
        "the quarter; if both players have five in a row, or the board is full, it is a tie. To "
        "turn a quarter, choose its outer corner, then the corner to which that is turned."
    )
    groups = ("rows",)
    first_steps = (
        "Click an empty cell, then an outer corner of the quarter that you want to turn, then "
        "the corner to which it goes. The middle of a quarter stays where it is, so stones "
        "there are safe."
    )

    rows = columns = SIDE
    look: ClassVar = {"piece": "disc", "block": SIDE // 2}

    kernels = Kernels(
        legal, play, playout, *owners_codec(_BIT_OF), sensible=sensible, forcing=forcing
    )
    sorts_sensible = False

    def __init__(self) -> None:
        super().__init__(board=4, state=2 + CELLS, actions=CELLS * TURNS, plies=CELLS)

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cell of the stone, and the corner that is turned to another."""
        return tuple((cell, *corners) for cell in range(CELLS) for corners in _CORNERS)
