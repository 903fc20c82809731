"""Knowledge of chess: forcing moves, and playouts that capture and end early with an evaluation.

Random matches of chess are long and mostly tied, so they say little about a position. These have
PLIES plies. Then material and mobility, counted as Shannon (1950) did, give a probability to win,
with which the winner is drawn.
"""

from __future__ import annotations

import math

import numpy as np

from playout.games.chessboard.moves import Moves, legal_moves, only
from playout.games.chessboard.position import chosen, how_many, key_of, move_to, outcome, turn
from playout.games.chessboard.squares import (
    CASTLE_LEFT,
    DIAGONAL,
    KINGS,
    KNIGHTS,
    LEADS,
    NONE,
    ONE,
    OTHER,
    OWN,
    PASSED,
    PAWNS,
    PLANES,
    STRAIGHT,
    UNDERPROMOTIONS,
    source_of,
)
from playout.games.core.bits import count
from playout.games.core.kernels import Board, Vector, helper, insert, kernel
from playout.games.core.random import Rng, draw

#: Plies of a playout. From two on, a search does not take an evaluation for a proven win.
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
