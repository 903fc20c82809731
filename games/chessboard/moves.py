"""Legal moves of chess as sets of squares: one set for each direction.

In a direction, each square is reached by one piece at most: the next one in the opposite direction.
So a set of targets for each direction names all moves, without a loop over the pieces. Sliding
pieces fill the empty squares ahead of them in three steps of 1, 2 and 4 (Kogge-Stone).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from playout.games.chessboard.squares import (
    ALL,
    CASTLING,
    DIAGONAL,
    INSIDE,
    JUMP_INSIDE,
    JUMP_TURNS,
    KINGS,
    KNIGHTS,
    LEFT_DOWN,
    LEFT_UP,
    NONE,
    ONE,
    OTHER,
    OWN,
    PASSED,
    PAWNS,
    RANK_3,
    RANK_8,
    RIGHT_DOWN,
    RIGHT_UP,
    STRAIGHT,
    TURNS,
    UP,
    turned,
)
from playout.games.core.kernels import Board, helper

Squares = np.uint64
Eight = tuple[Squares, Squares, Squares, Squares, Squares, Squares, Squares, Squares]

_2, _8, _63 = (np.uint64(n) for n in (2, 8, 63))
#: Rooks that castle, the squares that have to be empty for it, and those that the king passes.
_ROOK_LEFT, _FREE_LEFT, _PASSED_LEFT = (np.uint64(n) for n in (0x01, 0x0E, 0x0C))
_ROOK_RIGHT, _FREE_RIGHT = (np.uint64(n) for n in (0x80, 0x60))


class Danger(NamedTuple):
    """The effect of the opponent's pieces on the moves of a player."""

    #: The squares that they attack, also those behind the king.
    attacked: Squares
    #: The squares to which pieces other than the king may move: all, or those that meet a check.
    met: Squares
    #: The own pieces that are pinned, upright, across, and on the two diagonals.
    upright: Squares
    across: Squares
    rising: Squares
    falling: Squares


class Moves(NamedTuple):
    """The targets of all legal moves.

    `rays` are by direction, of every piece but knights, and `jumps` those of knights. `promotions`
    are the targets among the rays where a pawn promotes: straight on, to the right, to the left.
    `attacked` are the squares that the opponent's pieces attack, also those behind the king.
    """

    rays: Eight
    jumps: Eight
    promotions: tuple[Squares, Squares, Squares]
    castles_left: bool
    castles_right: bool
    in_check: bool
    attacked: Squares


@helper
def step(pieces: Squares, direction: int) -> Squares:
    """Return the squares one step from the pieces."""
    return turned(pieces, TURNS[direction]) & INSIDE[direction]


@helper
def jump(knights: Squares, direction: int) -> Squares:
    """Return the squares one jump from the knights."""
    return turned(knights, JUMP_TURNS[direction]) & JUMP_INSIDE[direction]


@helper
def ray(pieces: Squares, empty: Squares, direction: int) -> Squares:
    """Return the squares that sliding pieces reach in a direction, occupied ones included."""
    by = TURNS[direction]
    free = empty & INSIDE[direction]
    pieces |= free & turned(pieces, by)
    free &= turned(free, by)
    pieces |= free & turned(pieces, by << ONE & _63)
    free &= turned(free, by << ONE & _63)
    pieces |= free & turned(pieces, by << _2 & _63)
    return turned(pieces, by) & INSIDE[direction]


@helper
def jumped(knights: Squares) -> Squares:
    """Return all squares that knights reach."""
    found = NONE
    for direction in range(8):
        found |= jump(knights, direction)
    return found


@helper
def surrounded(kings: Squares) -> Squares:
    """Return all squares next to kings."""
    found = NONE
    for direction in range(8):
        found |= step(kings, direction)
    return found


@helper
def pressure(
    direction: int, sliders: Squares, king: Squares, own: Squares, empty: Squares
) -> tuple[Squares, Squares, Squares]:
    """Return the effect of the opponent's sliding pieces in a direction.

    It is the squares that they attack, also behind the king; the piece that is pinned, if any; and
    the squares where they can be stopped, which are all unless they give check.
    """
    attacked = ray(sliders, empty | king, direction)
    line = ray(king, empty, direction ^ 1)
    return attacked, attacked & line & own, line if attacked & king else ALL


@helper
def axis(
    first: int, sliders: Squares, king: Squares, own: Squares, empty: Squares
) -> tuple[Squares, Squares, Squares]:
    """Return the pressure in a direction and the opposite one."""
    one, pinned, met = pressure(first, sliders, king, own, empty)
    other, pinned_too, met_too = pressure(first + 1, sliders, king, own, empty)
    return one | other, pinned | pinned_too, met & met_too


@helper
def danger(board: Board) -> Danger:
    """Return the attacked squares, the squares that meet a check, and the pinned pieces."""
    own, other = np.uint64(board[OWN]), np.uint64(board[OTHER])
    knights, pawns = other & np.uint64(board[KNIGHTS]), other & np.uint64(board[PAWNS])
    diagonal, straight = other & np.uint64(board[DIAGONAL]), other & np.uint64(board[STRAIGHT])
    kings, empty = np.uint64(board[KINGS]), ~(own | other)
    king = own & kings
    attacked_0, upright, met_0 = axis(0, straight, king, own, empty)
    attacked_1, across, met_1 = axis(2, straight, king, own, empty)
    attacked_2, rising, met_2 = axis(4, diagonal, king, own, empty)
    attacked_3, falling, met_3 = axis(6, diagonal, king, own, empty)
    attacked = attacked_0 | attacked_1 | attacked_2 | attacked_3
    attacked |= jumped(knights) | surrounded(other & kings)
    attacked |= step(pawns, LEFT_DOWN) | step(pawns, RIGHT_DOWN)
    met = met_0 & met_1 & met_2 & met_3
    near = jumped(king) & knights | (step(king, RIGHT_UP) | step(king, LEFT_UP)) & pawns
    if near:
        met &= near
    return Danger(attacked, met, upright, across, rising, falling)


@helper
def can_pass(board: Board, direction: int) -> bool:
    """Return whether a pawn can capture, in a direction, the one that has just passed."""
    passed, own = np.uint64(board[PASSED]), np.uint64(board[OWN])
    pawn = step(passed, direction ^ 1) & own & np.uint64(board[PAWNS])
    if pawn == NONE:
        return False
    king = own & np.uint64(board[KINGS])
    other = np.uint64(board[OTHER]) & ~(passed >> _8)
    empty = ~(own ^ pawn | passed | other)
    diagonal, straight = other & np.uint64(board[DIAGONAL]), other & np.uint64(board[STRAIGHT])
    attackers = jumped(king) & other & np.uint64(board[KNIGHTS])
    attackers |= (step(king, RIGHT_UP) | step(king, LEFT_UP)) & other & np.uint64(board[PAWNS])
    for line in range(4):
        attackers |= ray(king, empty, line) & straight | ray(king, empty, line + 4) & diagonal
    return attackers == NONE


@helper
def slides(
    direction: int, sliders: Squares, empty: Squares, targets: Squares, king: Squares, safe: Squares
) -> Squares:
    """Return the legal targets of the player's sliding pieces and king in a direction."""
    return ray(sliders, empty, direction) & targets | step(king, direction) & safe


@helper
def leaps(direction: int, knights: Squares, targets: Squares) -> Squares:
    """Return the legal targets of the player's knights in a direction."""
    return jump(knights, direction) & targets


@helper
def legal_moves(board: Board) -> Moves:
    """Return all legal moves of the player to move, also if the match is over by a tie."""
    against = danger(board)
    own, other, pawns = np.uint64(board[OWN]), np.uint64(board[OTHER]), np.uint64(board[PAWNS])
    king, empty = own & np.uint64(board[KINGS]), ~(own | other)
    met, attacked = against.met, against.attacked
    free = own & ~(against.upright | against.across | against.rising | against.falling)
    upright, across = free | against.upright, free | against.across
    rising, falling = free | against.rising, free | against.falling

    ahead = step(upright & pawns, UP) & empty
    ahead = (ahead | step(ahead & RANK_3, UP) & empty) & met
    to_right = step(rising & pawns, RIGHT_UP) & other & met
    to_left = step(falling & pawns, LEFT_UP) & other & met
    promotions = (ahead & RANK_8, to_right & RANK_8, to_left & RANK_8)
    if board[PASSED]:
        passed = np.uint64(board[PASSED])
        to_right |= passed if can_pass(board, RIGHT_UP) else NONE
        to_left |= passed if can_pass(board, LEFT_UP) else NONE

    straight, diagonal = np.uint64(board[STRAIGHT]), np.uint64(board[DIAGONAL])
    upright, across = upright & straight, across & straight
    rising, falling = rising & diagonal, falling & diagonal
    targets, safe = ~own & met, ~own & ~attacked
    rays = (
        slides(0, upright, empty, targets, king, safe) | ahead,
        slides(1, upright, empty, targets, king, safe),
        slides(2, across, empty, targets, king, safe),
        slides(3, across, empty, targets, king, safe),
        slides(4, rising, empty, targets, king, safe) | to_right,
        slides(5, rising, empty, targets, king, safe),
        slides(6, falling, empty, targets, king, safe),
        slides(7, falling, empty, targets, king, safe) | to_left,
    )
    knights = free & np.uint64(board[KNIGHTS])
    jumps = (
        leaps(0, knights, targets),
        leaps(1, knights, targets),
        leaps(2, knights, targets),
        leaps(3, knights, targets),
        leaps(4, knights, targets),
        leaps(5, knights, targets),
        leaps(6, knights, targets),
        leaps(7, knights, targets),
    )
    in_check = king & attacked != NONE
    rooks = NONE if in_check else np.uint64(board[CASTLING])
    left = rooks & _ROOK_LEFT != NONE and _FREE_LEFT & ~empty | _PASSED_LEFT & attacked == NONE
    right = rooks & _ROOK_RIGHT != NONE and _FREE_RIGHT & (~empty | attacked) == NONE
    return Moves(rays, jumps, promotions, left, right, in_check, attacked)


@helper
def only(sets: Eight, wanted: Squares) -> Eight:
    """Return the wanted squares of eight sets."""
    return (
        sets[0] & wanted,
        sets[1] & wanted,
        sets[2] & wanted,
        sets[3] & wanted,
        sets[4] & wanted,
        sets[5] & wanted,
        sets[6] & wanted,
        sets[7] & wanted,
    )
