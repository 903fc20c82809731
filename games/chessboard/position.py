"""The board of chess for compiled code, and the numbers of actions.

Sets of squares are words of 64 bits as the player to move sees the board: bit `8 * rank + file`,
where rank 0 is the player's own first rank. After each move the ranks are reversed, so that the
rules exist for one direction only. Words are stored as int64 and processed as uint64.

An action is `(8 * file + rank) * 73 + plane` for the square of the piece that moves, also as the
player to move sees it, as in OpenSpiel. Planes 0 to 8 are promotions to a rook, a bishop and a
knight, each straight on, to the right and to the left. The next 56 are moves along the four axes by
-7 to -1 and 1 to 7 squares, and the last eight those of a knight. Two more actions castle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from playout.games.core.bits import count, lowest, nth
from playout.games.core.kernels import Board, Vector, helper, inlined_helper, insert, kernel
from playout.games.core.random import GAMMA, Rng, below

SIDE = 8
SQUARES = SIDE * SIDE

#: Plies in a row without a capture and without a move of a pawn that are a tie.
QUIET_PLIES = 100

#: Sets of squares on the board, after the player to move and the outcome: the pieces of the player
#: to move and of the opponent, then the kinds. Queens are in both of DIAGONAL and STRAIGHT.
OWN, OTHER, PAWNS, KNIGHTS, DIAGONAL, STRAIGHT, KINGS = range(2, 9)
#: The rooks that may castle, and the square that a pawn has just passed, where it can be captured.
CASTLING, PASSED = 9, 10
#: Plies in a row without a capture and without a move of a pawn, and the hash of the position
#: before each of them.
QUIET, EARLIER = 11, 12
BOARD_WORDS = EARLIER + QUIET_PLIES

#: The places of a state: the cells from the top left, each 0 or 2 * kind + player - 2 with the
#: kinds 1 to 6 (pawn, knight, bishop, rook, queen, king); then castling, the cell that a pawn has
#: just passed or NOWHERE, and the last two of the board.
CELLS = 2
STATE_CASTLING, STATE_PASSED, STATE_QUIET, STATE_EARLIER = range(
    CELLS + SQUARES, CELLS + SQUARES + 4
)
STATE_WORDS = STATE_EARLIER + QUIET_PLIES
NOWHERE = -1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)

#: Directions come in pairs of opposite ones: up and down, right and left, and the diagonals.
SHIFTS = np.array([8, -8, 1, -1, 9, -9, -7, 7])
JUMPS = np.array([-10, 6, -17, 15, -6, 10, -15, 17])
UP, RIGHT_UP, LEFT_UP = 0, 4, 7
LEFT_DOWN, RIGHT_DOWN = 5, 6

UNDERPROMOTIONS = 9
AXIS_PLANES = 14
FIRST_JUMP = UNDERPROMOTIONS + 4 * AXIS_PLANES
PLANES = FIRST_JUMP + 8
CASTLE_LEFT = SQUARES * PLANES
CASTLE_RIGHT = CASTLE_LEFT + 1
ACTIONS = CASTLE_RIGHT + 1

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
NONE, ONE = np.uint64(0), np.uint64(1)
RANK_1, RANK_3, RANK_6, RANK_8 = (np.uint64(0xFF << 8 * rank) for rank in (0, 2, 5, 7))
DARK = np.uint64(0xAA55AA55AA55AA55)
FILE_A, FILE_B, FILE_G, FILE_H = (np.uint64(0x0101010101010101 << file) for file in (0, 1, 6, 7))

#: By direction: how far a set is rotated for a step, and the squares where a step may end.
TURNS = tuple(np.uint64(int(shift) % 64) for shift in SHIFTS)
INSIDE = (
    ~RANK_1, ~RANK_8, ~FILE_A, ~FILE_H,
    ~(FILE_A | RANK_1), ~(FILE_H | RANK_8), ~(FILE_A | RANK_8), ~(FILE_H | RANK_1),
)  # fmt: skip
#: The same for the jumps of a knight.
JUMP_TURNS = tuple(np.uint64(int(jump) % 64) for jump in JUMPS)
_LEFT_2, _RIGHT_2 = ~(FILE_G | FILE_H), ~(FILE_A | FILE_B)
_UP_2, _DOWN_2 = (~np.uint64(rows) for rows in (0xFFFF, 0xFFFF << 48))
JUMP_INSIDE = (
    _LEFT_2 & ~RANK_8, _LEFT_2 & ~RANK_1, ~FILE_H & _DOWN_2, ~FILE_H & _UP_2,
    _RIGHT_2 & ~RANK_8, _RIGHT_2 & ~RANK_1, ~FILE_A & _DOWN_2, ~FILE_A & _UP_2,
)  # fmt: skip

#: The squares that a plane leads further, in the numbers of bits.
LEADS = np.array(
    [8, 9, 7] * 3
    + [int(SHIFTS[2 * axis]) * by for axis in range(4) for by in (*range(-7, 0), *range(1, 8))]
    + JUMPS.tolist()
)


@helper
def turned(squares: np.uint64, by: np.uint64) -> np.uint64:
    """Return a word rotated to the left."""
    return squares << by | squares >> (np.uint64(64) - by)


@helper
def action_from(source: int, plane: int) -> int:
    """Return the action of a plane for the piece on a square."""
    return ((source & 7) * SIDE + (source >> 3)) * PLANES + plane


@helper
def source_of(action: int) -> int:
    """Return the square of the piece that an action moves, except for castling."""
    place = action // PLANES
    return (place & 7) * SIDE + (place >> 3)


# Legal moves of chess as sets of squares: one set for each direction.
#
# In a direction, each square is reached by one piece at most: the next one in the opposite
# direction. So a set of targets for each direction names all moves, without a loop over the pieces.
# Sliding pieces fill the empty squares ahead of them in three steps of 1, 2 and 4 (Kogge-Stone).


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
    """Return whether a pawn can capture en passant in a direction."""
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
    """Return the intersection of each of eight sets with `wanted`."""
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


# The kernels: moves, and the end of a match.


_MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_29, _32, _11 = (np.uint64(n) for n in (29, 32, 11))
_16, _56 = (np.uint64(n) for n in (16, 56))
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
def forget_passed(board: Board) -> None:
    """Forget a pawn that has just passed if no move captures it.

    By article 9.2.3 of FIDE's laws, positions are the same if the same moves are possible in them.
    """
    if board[PASSED] and not (can_pass(board, RIGHT_UP) or can_pass(board, LEFT_UP)):
        board[PASSED] = 0


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
    forget_passed(board)


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
    """Write the player to move, the outcome and the cells; return the XOR from squares to cells."""
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
    forget_passed(board)
