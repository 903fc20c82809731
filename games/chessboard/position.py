"""The kernels of chess: moves on sets of squares, and the end of a match."""

from __future__ import annotations

import numpy as np

from playout.games.chessboard.moves import Moves, Squares, legal_moves, step
from playout.games.chessboard.squares import (
    AXIS_PLANES,
    BISHOP,
    CASTLE_LEFT,
    CASTLE_RIGHT,
    CASTLING,
    CELLS,
    DARK,
    DIAGONAL,
    EARLIER,
    FIRST_JUMP,
    JUMPS,
    KING,
    KINGS,
    KNIGHT,
    KNIGHTS,
    LEADS,
    NONE,
    NOWHERE,
    ONE,
    OTHER,
    OWN,
    PASSED,
    PAWN,
    PAWNS,
    PLANES,
    QUEEN,
    QUIET,
    QUIET_PLIES,
    RANK_1,
    RANK_6,
    RANK_8,
    ROOK,
    SHIFTS,
    SQUARES,
    STATE_CASTLING,
    STATE_EARLIER,
    STATE_PASSED,
    STATE_QUIET,
    STRAIGHT,
    UNDERPROMOTIONS,
    action_from,
    source_of,
)
from playout.games.core.bits import count, lowest, nth
from playout.games.core.kernels import Board, Vector, helper, inlined_helper, insert, kernel
from playout.games.core.random import GAMMA, Rng, below

_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_29, _32, _11 = (np.uint64(n) for n in (29, 32, 11))
_8, _16, _56 = (np.uint64(n) for n in (8, 16, 56))
_BYTES, _PAIRS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
TIE = -1


@helper
def mirrored(squares: int | Squares) -> int:
    """Return a set of squares with the ranks in reversed order, as the opponent sees it."""
    rest = np.uint64(squares)
    rest = rest >> _8 & _BYTES | (rest & _BYTES) << _8
    rest = rest >> _16 & _PAIRS | (rest & _PAIRS) << _16
    return np.int64(rest >> _32 | rest << _32)  # type: ignore[return-value]


@helper
def turn(board: Board) -> None:
    """Give the move to the opponent."""
    board[0] = 3 - board[0]
    own = board[OWN]
    board[OWN] = mirrored(board[OTHER])
    board[OTHER] = mirrored(own)
    for word in range(PAWNS, PASSED + 1):
        board[word] = mirrored(board[word])


@helper
def key_of(board: Board) -> int:
    """Return a hash of the position with 53 bits, exact for readers of JSON that know only floats.

    Positions are compared in which the same player is to move, so the player is no part of it.
    """
    key = _MIX_1
    for word in range(OWN, PASSED + 1):
        key = (key ^ np.uint64(board[word])) * _MIX_2
        key ^= key >> _29
    return np.int64(key * _MIX_1 >> _11)  # type: ignore[return-value]


@helper
def put(board: Board, source: Squares, target: Squares) -> None:
    """Move a piece to another square, and remove the piece there."""
    both = source | target
    capture = np.uint64(board[OTHER]) & target
    board[OWN] = np.int64(np.uint64(board[OWN]) ^ both)
    board[OTHER] = np.int64(np.uint64(board[OTHER]) ^ capture)
    for word in range(PAWNS, KINGS + 1):
        squares = np.uint64(board[word])
        kept = squares & ~both
        board[word] = np.int64(kept | target if squares & source else kept)


@helper
def promote(board: Board, target: Squares, underpromotion: int) -> None:
    """Replace a pawn: 0 a queen, 1 a rook, 2 a bishop, 3 a knight."""
    square = np.int64(target)
    board[PAWNS] ^= square
    if underpromotion < 2:
        board[STRAIGHT] |= square
    if underpromotion == 0 or underpromotion == 2:
        board[DIAGONAL] |= square
    if underpromotion == 3:
        board[KNIGHTS] |= square


@helper
def advance(board: Board, source: Squares, target: Squares, underpromotion: int, key: int) -> None:
    """Move a piece; `key` is the hash of the position before."""
    pawns, other = np.uint64(board[PAWNS]), np.uint64(board[OTHER])
    is_pawn = pawns & source != NONE
    is_quiet = not is_pawn and other & target == NONE
    is_king = np.uint64(board[KINGS]) & source != NONE
    rooks = np.uint64(board[CASTLING]) & ~(source | target)
    board[CASTLING] = np.int64(rooks & ~RANK_1 if is_king else rooks)
    put(board, source, target)
    passed = NONE
    if is_pawn:
        if np.int64(target) == board[PASSED]:
            captured = target >> _8
            board[OTHER] ^= np.int64(captured)
            board[PAWNS] ^= np.int64(captured)
        elif target == source << _16 and (step(target, 2) | step(target, 3)) & other & pawns:
            passed = source << _8
        elif target & RANK_8:
            promote(board, target, underpromotion)
    board[PASSED] = np.int64(passed)
    count_quiet(board, is_quiet, key)
    turn(board)


@helper
def castle(board: Board, to_left: bool, key: int) -> None:
    """Move the king and a rook."""
    king = np.int64(np.uint64(0x14) if to_left else np.uint64(0x50))
    rook = np.int64(np.uint64(0x09) if to_left else np.uint64(0xA0))
    board[KINGS] ^= king
    board[STRAIGHT] ^= rook
    board[OWN] ^= king | rook
    board[CASTLING] = np.int64(np.uint64(board[CASTLING]) & ~RANK_1)
    board[PASSED] = 0
    count_quiet(board, True, key)
    turn(board)


@helper
def count_quiet(board: Board, is_quiet: bool, key: int) -> None:
    """Add the position before a quiet move to the earlier ones; remove them all after others."""
    quiet = board[QUIET]
    if is_quiet and quiet < QUIET_PLIES:
        board[EARLIER + quiet] = key
        board[QUIET] = quiet + 1
    else:
        for ply in range(quiet):
            board[EARLIER + ply] = 0
        board[QUIET] = 0


@helper
def is_drawn(board: Board, key: int) -> bool:
    """Return whether neither player can mate, or the position is there for the third time."""
    if board[PAWNS] | board[STRAIGHT] == 0:
        bishops, knights = np.uint64(board[DIAGONAL]), np.uint64(board[KNIGHTS])
        if knights == NONE and (bishops & DARK == NONE or bishops & ~DARK == NONE):
            return True
        if bishops == NONE and count(knights) == 1:
            return True
    before = 0
    for ply in range(board[QUIET] - 4, -1, -2):
        before += board[EARLIER + ply] == key
    return before >= 2


@helper
def how_many(moves: Moves) -> int:
    """Return the number of legal moves."""
    n = np.int64(moves.castles_left) + np.int64(moves.castles_right)
    for direction in range(8):
        n += count(moves.rays[direction]) + count(moves.jumps[direction])
    for promotion in range(3):
        n += 3 * count(moves.promotions[promotion])
    return n  # type: ignore[return-value]


@helper
def outcome(board: Board, moves: Moves, is_over: bool) -> int:
    """Return the outcome; `is_over` is true if there are no legal moves."""
    if is_over:
        return 3 - board[0] if moves.in_check else TIE
    return TIE if board[QUIET] >= QUIET_PLIES else 0


@helper
def behind(board: Board, target: int, direction: int) -> int:
    """Return the square from which a piece reaches another one along a direction."""
    pieces, by = np.uint64(board[OWN]), SHIFTS[direction]
    source = target - by
    while pieces >> np.uint64(source) & ONE == NONE:
        source -= by
    return source


@helper
def plane_of(direction: int, source: int, target: int) -> int:
    """Return the plane of a move along a direction."""
    distance = (target - source) // SHIFTS[direction]
    along = 6 + distance if direction & 1 == 0 else 7 - distance
    return UNDERPROMOTIONS + AXIS_PLANES * (direction >> 1) + along


@helper
def chosen(board: Board, moves: Moves, pick: int) -> int:
    """Return one of the legal actions; `pick` is from 0 and less than their number."""
    for direction in range(8):
        n = count(moves.rays[direction])
        if pick < n:
            target = nth(moves.rays[direction], pick)
            source = behind(board, target, direction)
            return action_from(source, plane_of(direction, source, target))
        pick -= n
        n = count(moves.jumps[direction])
        if pick < n:
            target = nth(moves.jumps[direction], pick)
            return action_from(target - JUMPS[direction], FIRST_JUMP + direction)
        pick -= n
    for side in range(3):
        n = count(moves.promotions[side])
        if pick < 3 * n:
            target = nth(moves.promotions[side], pick // 3)
            return action_from(target - LEADS[side], 3 * (pick % 3) + side)
        pick -= 3 * n
    return CASTLE_LEFT if pick == 0 and moves.castles_left else CASTLE_RIGHT


@helper
def move(board: Board, action: int, key: int) -> None:
    """Play an action, without its outcome; `key` is the hash of the position before."""
    if action >= CASTLE_LEFT:
        castle(board, action == CASTLE_LEFT, key)
    else:
        source, plane = source_of(action), action % PLANES
        target = ONE << np.uint64(source + LEADS[plane])
        underpromotion = plane // 3 + 1 if plane < UNDERPROMOTIONS else 0
        advance(board, ONE << np.uint64(source), target, underpromotion, key)


@inlined_helper
def move_to(board: Board, action: int, key: int) -> int:
    """Play an action, set the outcome if that repeats a position, and return the new hash."""
    move(board, action, key)
    key = key_of(board)
    if is_drawn(board, key):
        board[1] = TIE
    return key


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    moves = legal_moves(board)
    n = how_many(moves)
    for pick in range(n):
        # From the last one on: those of few pieces are out of place then.
        insert(actions, pick, chosen(board, moves, n - 1 - pick))
    return n


@kernel
def play(board: Board, action: int) -> None:
    move_to(board, action, key_of(board))
    if board[1] == 0:
        moves = legal_moves(board)
        board[1] = outcome(board, moves, how_many(moves) == 0)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply = 0
    state = rng[0]
    key = key_of(board)
    while board[1] == 0:
        moves = legal_moves(board)
        n = how_many(moves)
        board[1] = outcome(board, moves, n == 0)
        if board[1]:
            break
        state += GAMMA
        action = chosen(board, moves, below(state, n))
        trace[ply] = action
        ply += 1
        key = move_to(board, action, key)
    rng[0] = state
    return ply


@helper
def write_kind(squares: int, piece: int, flip: int, state: Vector) -> None:
    """Write the number of a piece to the cells of some squares."""
    rest = np.uint64(squares)
    while rest:
        state[CELLS + (lowest(rest) ^ flip)] = piece
        rest &= rest - ONE


@helper
def write_cells(board: Board, state: Vector) -> int:
    """Write the player, the outcome and the cells; return what turns a square into a cell."""
    state[:2] = board[:2]
    flip = 56 if board[0] == 1 else 0
    state[CELLS : CELLS + SQUARES] = 0
    straight, diagonal = board[STRAIGHT], board[DIAGONAL]
    for seat in range(2):
        pieces = board[OWN + seat]
        owner = (board[0] if seat == 0 else 3 - board[0]) - 2
        write_kind(pieces & board[PAWNS], 2 * PAWN + owner, flip, state)
        write_kind(pieces & board[KNIGHTS], 2 * KNIGHT + owner, flip, state)
        write_kind(pieces & board[KINGS], 2 * KING + owner, flip, state)
        write_kind(pieces & diagonal & ~straight, 2 * BISHOP + owner, flip, state)
        write_kind(pieces & straight & ~diagonal, 2 * ROOK + owner, flip, state)
        write_kind(pieces & straight & diagonal, 2 * QUEEN + owner, flip, state)
    return flip


@kernel
def write(board: Board, state: Vector) -> None:
    flip = write_cells(board, state)
    rights = 0
    for seat in range(2):
        home = 0 if board[0] == seat + 1 else 56
        rights |= (board[CASTLING] >> home + 7 & 1) << 2 * seat
        rights |= (board[CASTLING] >> home & 1) << 2 * seat + 1
    state[STATE_CASTLING] = rights
    state[STATE_PASSED] = lowest(board[PASSED]) ^ flip if board[PASSED] else NOWHERE
    state[STATE_QUIET] = board[QUIET]
    state[STATE_EARLIER:] = board[EARLIER:]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2:] = 0
    flip = 56 if state[0] == 1 else 0
    for cell in range(SQUARES):
        piece = state[CELLS + cell]
        if 1 <= piece <= 12:
            kind, square = (piece + 1) // 2, 1 << (cell ^ flip)
            board[OWN if 2 - piece % 2 == state[0] else OTHER] |= square
            if kind == PAWN:
                board[PAWNS] |= square
            if kind == KNIGHT:
                board[KNIGHTS] |= square
            if kind in (BISHOP, QUEEN):
                board[DIAGONAL] |= square
            if kind in (ROOK, QUEEN):
                board[STRAIGHT] |= square
            if kind == KING:
                board[KINGS] |= square
    for seat in range(2):
        side, home = (OWN, 0) if state[0] == seat + 1 else (OTHER, 56)
        pieces = board[side] >> home
        if pieces & board[KINGS] >> home & 0x10:
            rooks = pieces & board[STRAIGHT] >> home & ~(board[DIAGONAL] >> home)
            rights = state[STATE_CASTLING] >> 2 * seat
            board[CASTLING] |= (rooks & (rights & 1) << 7 | rooks & rights >> 1 & 1) << home
    passed = state[STATE_PASSED]
    if 0 <= passed < SQUARES:
        behind_pawn = np.uint64(1 << (passed ^ flip)) & RANK_6
        behind_pawn &= ~np.uint64(board[OWN] | board[OTHER])
        if behind_pawn >> _8 & np.uint64(board[OTHER]) & np.uint64(board[PAWNS]):
            board[PASSED] = np.int64(behind_pawn)
    quiet = min(max(state[STATE_QUIET], 0), QUIET_PLIES)
    board[QUIET] = quiet
    board[EARLIER : EARLIER + quiet] = state[STATE_EARLIER : STATE_EARLIER + quiet]
