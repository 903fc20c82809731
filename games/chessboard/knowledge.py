"""Knowledge of chess: forcing moves, playouts, and numbers for a learned evaluation."""

from __future__ import annotations

import math

import numpy as np

from playout.games.chessboard.position import (
    CASTLE_LEFT,
    DIAGONAL,
    FILE_A,
    FILE_H,
    KINGS,
    KNIGHTS,
    LEADS,
    LEFT_DOWN,
    LEFT_UP,
    NONE,
    ONE,
    OTHER,
    OWN,
    PASSED,
    PAWNS,
    PLANES,
    RIGHT_DOWN,
    RIGHT_UP,
    STRAIGHT,
    UNDERPROMOTIONS,
    Moves,
    Squares,
    chosen,
    how_many,
    jump,
    key_of,
    legal_moves,
    mirrored,
    move_to,
    only,
    outcome,
    ray,
    source_of,
    step,
    surrounded,
    turn,
    write_cells,
)
from playout.games.core.bits import count
from playout.games.core.kernels import Board, Vector, bounded, helper, insert, kernel
from playout.games.core.random import Rng, draw

# Forcing moves, and playouts that capture and end early with an evaluation.
#
# Random matches of chess are long and mostly tied, so they say little about a position. These have
# PLIES plies. Then material and mobility, counted as Shannon (1950) did, give a probability to win,
# with which the winner is drawn.


#: Plies of a playout. With two or more, a search does not mistake an evaluation for a proof.
PLIES = 4
#: How often a random move that loses material is drawn again.
TRIES = 2
#: Tenths of a pawn: a pawn, a piece, a rook, a queen, and a legal move.
PAWN_VALUE, PIECE_VALUE, ROOK_VALUE, QUEEN_VALUE, MOVE_VALUE = 10, 30, 50, 90, 1
#: With a lead of this many tenths of a pawn, wins are e times as frequent as losses.
SCALE = 20.0


@helper
def value_at(board: Board, square: int) -> int:
    """Return the value of the piece on a square, in tenths of a pawn; a king has that of a pawn."""
    straight, diagonal = board[STRAIGHT] >> square & 1, board[DIAGONAL] >> square & 1
    if straight:
        return QUEEN_VALUE if diagonal else ROOK_VALUE
    if diagonal or board[KNIGHTS] >> square & 1:
        return PIECE_VALUE
    return PAWN_VALUE if (board[PAWNS] | board[KINGS]) >> square & 1 else 0


@helper
def gain_of(board: Board, moves: Moves, action: int) -> int:
    """Return the material that an action gains, if the opponent recaptures when possible."""
    if action >= CASTLE_LEFT:
        return 0
    source, plane = source_of(action), action % PLANES
    target = source + LEADS[plane]
    gain = value_at(board, target)
    moved = value_at(board, source)
    if moved == PAWN_VALUE and target >= 56 and not board[KINGS] >> source & 1:
        moved = PIECE_VALUE if plane < UNDERPROMOTIONS else QUEEN_VALUE
        gain += moved - PAWN_VALUE
    is_attacked = moves.attacked >> np.uint64(target) & ONE != NONE
    return gain - moved if is_attacked else gain


@helper
def best_capture(board: Board, moves: Moves) -> tuple[int, int]:
    """Return the capture or promotion that gains most, and its gain; -1 and 0 if none gains."""
    ahead, _, _ = moves.promotions
    wanted = np.uint64(board[OTHER]) | ahead
    captures = Moves(
        (
            moves.rays[0] & wanted,
            moves.rays[1] & wanted,
            moves.rays[2] & wanted,
            moves.rays[3] & wanted,
            moves.rays[4] & wanted,
            moves.rays[5] & wanted,
            moves.rays[6] & wanted,
            moves.rays[7] & wanted,
        ),
        (
            moves.jumps[0] & wanted,
            moves.jumps[1] & wanted,
            moves.jumps[2] & wanted,
            moves.jumps[3] & wanted,
            moves.jumps[4] & wanted,
            moves.jumps[5] & wanted,
            moves.jumps[6] & wanted,
            moves.jumps[7] & wanted,
        ),
        (NONE, NONE, NONE),
        False,
        False,
        moves.in_check,
        moves.attacked,
    )
    best, most = -1, 0
    for pick in range(how_many(captures)):
        action = chosen(board, captures, pick)
        gain = gain_of(board, moves, action)
        if gain > most:
            best, most = action, gain
    return best, most


@helper
def answer(board: Board, rng: Rng, moves: Moves, n: int) -> int:
    """Return the best capture, or else a random move that loses no material at once."""
    action, _ = best_capture(board, moves)
    if action >= 0:
        return action
    for _ in range(TRIES):
        action = chosen(board, moves, draw(rng, n))
        if gain_of(board, moves, action) >= 0:
            return action
    return chosen(board, moves, draw(rng, n))


@helper
def material(board: Board, pieces: np.uint64) -> int:
    """Return the value of pieces, in tenths of a pawn."""
    diagonal, straight = np.uint64(board[DIAGONAL]), np.uint64(board[STRAIGHT])
    queens = count(pieces & diagonal & straight)
    minor = count(pieces & (diagonal & ~straight | np.uint64(board[KNIGHTS])))
    return (
        PAWN_VALUE * count(pieces & np.uint64(board[PAWNS]))
        + PIECE_VALUE * minor
        + ROOK_VALUE * count(pieces & straight & ~diagonal)
        + QUEEN_VALUE * queens
    )


@helper
def lead(board: Board, moves: Moves) -> int:
    """Return by how much the player to move is ahead, in tenths of a pawn."""
    _, gain = best_capture(board, moves)
    ahead = gain + MOVE_VALUE * how_many(moves)
    ahead += material(board, np.uint64(board[OWN])) - material(board, np.uint64(board[OTHER]))
    turn(board)
    ahead -= MOVE_VALUE * how_many(legal_moves(board))
    turn(board)
    return ahead


@kernel
def heavy(board: Board, rng: Rng, trace: Vector) -> int:
    ply, key = 0, key_of(board)
    while board[1] == 0:
        moves = legal_moves(board)
        n = how_many(moves)
        board[1] = outcome(board, moves, n == 0)
        if board[1]:
            break
        if ply == PLIES:
            wins = 65536 / (1.0 + math.exp(-lead(board, moves) / SCALE))
            board[1] = board[0] if draw(rng, 65536) < wins else 3 - board[0]
            break
        action = answer(board, rng, moves, n)
        trace[ply] = action
        ply += 1
        key = move_to(board, action, key)
    return ply


@kernel
def forcing(board: Board, actions: Vector) -> int:
    """Write captures and promotions to a queen that lose nothing, those that gain most first."""
    if board[1]:
        return 0
    moves = legal_moves(board)
    taken = np.uint64(board[OTHER]) | np.uint64(board[PASSED])
    promoted = moves.promotions[0] | moves.promotions[1] | moves.promotions[2]
    none = (NONE, NONE, NONE)
    rays, jumps = only(moves.rays, taken | promoted), only(moves.jumps, taken)
    found = Moves(rays, jumps, none, False, False, moves.in_check, moves.attacked)
    n = 0
    for pick in range(how_many(found)):
        action = chosen(board, found, pick)
        gain = gain_of(board, moves, action)
        if gain >= 0:
            insert(actions, n, QUEEN_VALUE * 2 - gain << 16 | action)
            n += 1
    for place in range(n):
        actions[place] &= 0xFFFF
    return n


# Numbers of a position of chess for a learned evaluation: each the lead of player 1 in something.
#
# They are the terms of most chess programs: mobility, attacks near the king, passed and weak pawns,
# threats, pawns before the king, pairs of bishops, and rooks on open files.


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
    """Return the progress of passed pawns, seen from their player's side; far ones count more."""
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
    """Write the player to move, the outcome, the cells and the leads, and no other word."""
    write_cells(board, observed)
    write_leads(board, observed[len(observed) - len(WORTHS) :])
