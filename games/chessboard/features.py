"""Numbers of a position of chess for a learned evaluation: each the lead of player 1 in something.

They are the terms of most chess programs: mobility, attacks near the king, passed and weak pawns,
threats, pawns before the king, pairs of bishops, and rooks on open files.
"""

from __future__ import annotations

import numpy as np

from playout.games.chessboard.moves import Squares, jump, ray, step, surrounded
from playout.games.chessboard.position import mirrored, write_cells
from playout.games.chessboard.squares import (
    DIAGONAL,
    FILE_A,
    FILE_H,
    KINGS,
    KNIGHTS,
    LEFT_DOWN,
    LEFT_UP,
    NONE,
    ONE,
    OTHER,
    OWN,
    PAWNS,
    RIGHT_DOWN,
    RIGHT_UP,
    STRAIGHT,
)
from playout.games.core.bits import count
from playout.games.core.kernels import Board, Vector, bounded, helper, kernel

#: What a lead of one counts when learning begins, in round numbers that follow from a regression of
#: values by another program; a pawn counts 0.15.
WORTHS = (0.02, 0.012, 0.015, -0.015, 0.08, 0.0, 0.08, 0.03)

_8, _16, _32 = (np.uint64(n) for n in (8, 16, 32))
#: The ranks from the fourth, fifth, sixth and seventh on.
_FROM_4, _FROM_5, _FROM_6, _FROM_7 = (
    np.uint64((0xFFFFFFFFFFFFFFFF << 8 * rank) & 0xFFFFFFFFFFFFFFFF) for rank in (3, 4, 5, 6)
)


@helper
def above(squares: Squares) -> Squares:
    """Return squares and all above them."""
    squares |= squares << _8
    squares |= squares << _16
    return squares | squares << _32


@helper
def below(squares: Squares) -> Squares:
    """Return squares and all below them."""
    squares |= squares >> _8
    squares |= squares >> _16
    return squares | squares >> _32


@helper
def beside(squares: Squares) -> Squares:
    """Return the squares on the left and on the right of squares."""
    return (squares & ~FILE_A) >> ONE | (squares & ~FILE_H) << ONE


@helper
def activity(
    straight: Squares,
    diagonal: Squares,
    knights: Squares,
    empty: Squares,
    targets: Squares,
    zone: Squares,
) -> tuple[int, int, Squares]:
    """Return the moves of pieces to targets, those to a zone, and the squares that they attack."""
    moves, near, attacked = 0, 0, NONE
    for direction in range(8):
        reached = ray(straight if direction < 4 else diagonal, empty, direction)
        jumps = jump(knights, direction)
        moves += count(reached & targets) + count(jumps & targets)
        near += count(reached & zone) + count(jumps & zone)
        attacked |= reached | jumps
    return moves, near, attacked


@helper
def weak(pawns: Squares) -> int:
    """Count the pawns without another on a file beside them, and those behind another."""
    files = above(below(pawns))
    return count(pawns & ~beside(files)) + count(pawns & above(pawns) << _8)


@helper
def progress(pawns: Squares, others: Squares) -> int:
    """Return how far the passed pawns of a player have come, who sees them; far ones count more."""
    passed = pawns & ~(below(others | beside(others)) >> _8)
    far = count(passed) + count(passed & _FROM_4) + count(passed & _FROM_5)
    return far + 2 * count(passed & _FROM_6) + 3 * count(passed & _FROM_7)


@helper
def write_leads(board: Board, found: Vector) -> None:
    """Write the numbers of a position."""
    own, other = np.uint64(board[OWN]), np.uint64(board[OTHER])
    pawns, knights = np.uint64(board[PAWNS]), np.uint64(board[KNIGHTS])
    straight, diagonal = np.uint64(board[STRAIGHT]), np.uint64(board[DIAGONAL])
    kings, empty = np.uint64(board[KINGS]), ~(own | other)
    mine, theirs = own & pawns, other & pawns
    up = step(mine, RIGHT_UP) | step(mine, LEFT_UP)
    down = step(theirs, RIGHT_DOWN) | step(theirs, LEFT_DOWN)
    around, around_other = surrounded(own & kings), surrounded(other & kings)
    moves, near, reached = activity(
        own & straight, own & diagonal, own & knights, empty, ~own & ~down, around_other
    )
    moves_2, near_2, reached_2 = activity(
        other & straight, other & diagonal, other & knights, empty, ~other & ~up, around
    )
    pieces, pieces_2 = own & ~(pawns | kings), other & ~(pawns | kings)
    safe, safe_2 = reached | up | around, reached_2 | down | around_other
    threats = count(pieces_2 & up) + count(other & reached & ~safe_2)
    threats_2 = count(pieces & down) + count(own & reached_2 & ~safe)
    far = progress(mine, theirs)
    far_2 = progress(np.uint64(mirrored(theirs)), np.uint64(mirrored(mine)))
    shield = count((around | around << _8) & mine) - count(
        (around_other | around_other >> _8) & theirs
    )
    bishops, bishops_2 = count(own & diagonal & ~straight), count(other & diagonal & ~straight)
    open_files = ~above(below(pawns))
    rooks = straight & ~diagonal & open_files
    sign = 1 if board[0] == 1 else -1
    found[0] = bounded(sign * ((moves - moves_2) // 2))
    found[1] = bounded(sign * (near - near_2))
    found[2] = bounded(sign * (far - far_2))
    found[3] = bounded(sign * (weak(mine) - weak(theirs)))
    found[4] = bounded(sign * (threats - threats_2))
    found[5] = bounded(sign * shield)
    found[6] = bounded(sign * (int(bishops > 1) - int(bishops_2 > 1)))
    found[7] = bounded(sign * (count(own & rooks) - count(other & rooks)))


@kernel
def observe(board: Board, observed: Vector) -> None:
    """Write the player, the outcome, the cells, and the numbers; what else a state has is left."""
    write_cells(board, observed)
    write_leads(board, observed[len(observed) - len(WORTHS) :])
