"""The board of Go and its rules by flood fill, for compiled code.

A board is a header, a record of eight words for each point, the hashes of the positions so far, and
a filter of these. A point is the index of its record, so that the next point of a row is eight
further; a border of points surrounds the board, one column between two rows. The word at a point is
its colour. The other words of a record are working memory: `MARK` and `STACK` for flood fill, which
leaves them 0, and the rest for `playout.games.goban.chains`, which sets them again for each use.

The kernels of single moves find chains without liberties by flood fill. They need no preparation,
and equal positions have equal boards after them. Playouts keep the chains up to date instead.
"""

from __future__ import annotations

import random

import numpy as np

from playout.games.core.kernels import Board, Vector, at, helper, inlined_helper, kernel, outcome_of

MAX_SIDE = 19

#: The header, after the player to move and the outcome.
PLY, LAST, KO, HASH, SEEN = 2, 3, 4, 5, 6
SIZE, STRIDE, RECIPROCAL, KOMI, SUPERKO, POSITIONS = 7, 8, 9, 10, 11, 12
#: Whether two passes are followed by a stage of counting, and whether territory is counted.
COUNTING, TERRITORY = 24, 25
#: 0 in play; 1 while the score is counted, 2 if the opponent has accepted the dead stones.
STAGE = 26
#: Whether play was continued after a stage of counting, and how often stones were marked there.
RESUMED, MARKED = 27, 28
#: How many stones each player has put on the board, if territory is counted.
PUT = 30
#: In playouts, the number of empty points, and the stones of Black less those of White.
EMPTIES, LEAD = 13, 14
#: The distances to the four neighbours of a point, then to the four diagonal ones.
STEPS = 16
#: The record of the first border point.
FIRST = 32
#: The words of a record after the colour.
HEAD, NEXT, LIBERTIES, LISTED, PLACE, MARK, STACK = range(1, 8)

EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3
#: Added to the colour of a stone that is marked as dead.
DEAD = 3
#: The numbers of a state behind the hashes, in games that count in a stage, or count territory.
COUNTING_WORDS = 5
#: The head of points without a stone.
NO_CHAIN = FIRST
#: A pass in the place of a point; no point at all is 0.
PASS = 1

#: Words of the filter: a bit for the lowest bits of each hash.
FILTER_WORDS = 64
FILTER_BITS = 64 * FILTER_WORDS - 1

_POINTS = (MAX_SIDE + 1) * (MAX_SIDE + 2) + 1 + FIRST // 8
_bits = random.Random("Go")
#: Random numbers by point and colour (Zobrist 1970). They have 53 bits, so that they are exact for
#: readers of JSON that know only floating-point numbers.
_ZOBRIST = np.array([_bits.getrandbits(53) for _ in range(2 * _POINTS)], dtype=np.int64)


def points(size: int) -> int:
    """Return the number of records of a board: its points, and those of the border."""
    return (size + 1) * (size + 2) + 1


def board_words(size: int) -> int:
    """Return the length of a board."""
    return FIRST + 8 * points(size) + 2 * size * size + FILTER_WORDS


def header_of(
    size: int, twice_komi: int, *, superko: bool, counting: bool, territory: bool
) -> dict[int, int]:
    """Return the words of a board that never change, by their indices."""
    stride = size + 1
    header = {SIZE: size, STRIDE: stride, RECIPROCAL: (1 << 16) // stride + 1}
    header |= {KOMI: twice_komi, SUPERKO: int(superko), POSITIONS: FIRST + 8 * points(size)}
    header |= {COUNTING: int(counting), TERRITORY: int(territory)}
    steps = (-stride, -1, 1, stride, -stride - 1, stride - 1, -stride + 1, stride + 1)
    header |= {STEPS + k: 8 * step for k, step in enumerate(steps)}
    for point in range(FIRST, FIRST + 8 * points(size), 8):
        row, column = divmod((point - FIRST) // 8, stride)
        inside = 1 <= row <= size and column >= 1
        header |= {point: EMPTY if inside else BORDER, point + HEAD: NO_CHAIN}
    return header


@helper
def stone_key(point: int, colour: int) -> int:
    """Return the random number of a stone; the hash of a position is the XOR of its stones."""
    return _ZOBRIST[np.uint64((point >> 3 << 1) + colour - 1)]


@helper
def point_at(board: Board, row: int, column: int) -> int:
    """Return the point at a row and column, which count from 0; -1 and the size are the border."""
    return FIRST + 8 * ((row + 1) * board[STRIDE] + column + 1)


@helper
def point_of(board: Board, action: int) -> int:
    """Return the point of an action, which is not a pass."""
    row = action // board[SIZE]
    return point_at(board, row, action - row * board[SIZE])


@helper
def action_of(board: Board, point: int) -> int:
    """Return the action that plays on a point, or passes."""
    size = board[SIZE]
    if point == PASS:
        return size * size
    place = (point - FIRST) >> 3
    row = place * board[RECIPROCAL] >> 16  # place // stride, exact for every point of 19x19
    return place - row - size - 1


# Moves, captures and scoring. The hash of each earlier position is kept, as a repeated one ends the
# match or is illegal.


_points = helper(points)


@helper
def surrounded(board: Board, stone: int, besides: int) -> int:
    """Return the number of stones of a chain if it has no liberty other than `besides`, or else 0.

    The stones are then on the stack, which the caller has to clear.
    """
    colour = board[stone]
    board[stone + MARK] = 1
    board[FIRST + STACK] = stone
    count, done, free = 1, 0, False
    while done < count and not free:
        point = board[FIRST + 8 * done + STACK]
        done += 1
        for k in range(4):
            near = point + board[STEPS + k]
            if board[near] == colour:
                if board[near + MARK] == 0:
                    board[near + MARK] = 1
                    board[FIRST + 8 * count + STACK] = near
                    count += 1
            elif board[near] == EMPTY and near != besides:
                free = True
    for i in range(count):
        board[board[FIRST + 8 * i + STACK] + MARK] = 0
        if free:
            board[FIRST + 8 * i + STACK] = 0
    return 0 if free else count


@helper
def key_of_stack(board: Board, count: int) -> int:
    """Return the XOR of the keys of the stones on the stack, and clear it."""
    key = 0
    for i in range(count):
        stone = board[FIRST + 8 * i + STACK]
        key ^= stone_key(stone, board[stone])
        board[FIRST + 8 * i + STACK] = 0
    return key


@helper
def is_legal(board: Board, point: int) -> bool:
    """Return whether the player to move may play on an empty point; ignores repetitions."""
    if point == board[KO]:
        return False
    for k in range(4):
        if board[point + board[STEPS + k]] == EMPTY:
            return True
    for k in range(4):
        near = point + board[STEPS + k]
        if board[near] != BORDER:
            count = surrounded(board, near, point)
            key_of_stack(board, count)
            if (board[near] == board[0]) == (count == 0):
                return True
    return False


@helper
def key_after(board: Board, point: int) -> int:
    """Return the hash of the position after a legal move of the player to move."""
    player = board[0]
    key = board[HASH] ^ stone_key(point, player)
    board[point] = player
    for k in range(4):
        near = point + board[STEPS + k]
        if board[near] == 3 - player:
            count = surrounded(board, near, 0)
            is_new = True
            for i in range(count):
                for j in range(k):
                    if board[FIRST + 8 * i + STACK] == point + board[STEPS + j]:
                        is_new = False
            captured = key_of_stack(board, count)
            if is_new:
                key ^= captured
    board[point] = EMPTY
    return key


@inlined_helper
def has_been(board: Board, key: int) -> bool:
    """Return whether a position with this hash has been on the board."""
    bit = key & FILTER_BITS
    word = board[POSITIONS] + 2 * board[SIZE] * board[SIZE] + (bit >> 6)
    if at(board, word) >> (bit & 63) & 1 == 0:
        return False
    for i in range(board[SEEN]):  # noqa: SIM110
        if board[board[POSITIONS] + i] == key:
            return True
    return False


@inlined_helper
def remember(board: Board, key: int) -> None:
    """Add the hash of a position to the earlier ones."""
    room = 2 * board[SIZE] * board[SIZE]
    if board[SEEN] < room:
        board[np.uint64(board[POSITIONS] + board[SEEN])] = key
        board[SEEN] += 1
        bit = key & FILTER_BITS
        board[np.uint64(board[POSITIONS] + room + (bit >> 6))] |= 1 << (bit & 63)


@helper
def points_lead(board: Board) -> int:
    """Return the points of Black less those of White, without komi.

    By area they are stones, and empty points from which only stones of one colour are reached. By
    territory they are such empty points and captured stones: the lead by area, less the stones that
    Black has put on the board, plus those of White. Stones that are marked as dead are captured.
    """
    size, lead = board[SIZE], 0
    for row in range(size):
        for column in range(size):
            point = point_at(board, row, column)
            if is_free(board, point):
                if board[point + MARK] == 0:
                    lead += _region_lead(board, point)
            else:
                lead += 3 - 2 * board[point]
    for row in range(size):
        for column in range(size):
            board[point_at(board, row, column) + MARK] = 0
    return lead - board[PUT] + board[PUT + 1]


@helper
def is_free(board: Board, point: int) -> bool:
    """Return whether a point is empty, or has a stone that is marked as dead."""
    return board[point] == EMPTY or board[point] > DEAD


@helper
def _region_lead(board: Board, point: int) -> int:
    """Mark the free points connected to one; return their number, negative if they are White's."""
    board[point + MARK] = 1
    board[FIRST + STACK] = point
    count, done, reached = 1, 0, 0
    while done < count:
        point = board[FIRST + 8 * done + STACK]
        board[FIRST + 8 * done + STACK] = 0
        done += 1
        for k in range(4):
            near = point + board[STEPS + k]
            if is_free(board, near):
                if board[near + MARK] == 0:
                    board[near + MARK] = 1
                    board[FIRST + 8 * count + STACK] = near
                    count += 1
            elif board[near] != BORDER:
                reached |= board[near]
    if reached == BLACK:
        return count
    return -count if reached == BLACK + 1 else 0


@helper
def outcome_by_points(board: Board) -> int:
    """Return the outcome of a match that is over: 1, 2, or -1 for a tie."""
    return outcome_of(2 * points_lead(board) - board[KOMI])


# The stage of counting. The player to move marks groups as dead or alive, and accepts; the match is
# over when the opponent accepts the same. Either may continue the match instead, once: after the
# next two passes all stones count as alive.


@helper
def end_play(board: Board) -> None:
    """End the match after two passes, or begin to count."""
    if board[COUNTING] and board[RESUMED] == 0:
        board[STAGE] = 1
    else:
        board[1] = outcome_by_points(board)


@helper
def count(board: Board, action: int) -> None:
    """Carry out an action of the stage of counting."""
    cells = board[SIZE] * board[SIZE]
    if action < cells:
        _mark_group(board, point_of(board, action))
        board[STAGE] = 1
        board[MARKED] += 1
    elif action == cells and board[STAGE] == 1:
        board[STAGE] = 2
        board[0] = 3 - board[0]
    elif action == cells:
        board[0] = 3 - board[0]
        board[1] = outcome_by_points(board)
    if action > cells or board[MARKED] >= cells:
        _resume(board)


@helper
def _mark_group(board: Board, stone: int) -> None:
    """Mark a group as dead, or unmark it.

    It is a stone, with those of its colour that empty points or such stones connect to it.
    """
    colour = board[stone] % DEAD
    marked = colour if board[stone] > DEAD else colour + DEAD
    board[stone + MARK] = 1
    board[FIRST + STACK] = stone
    count, done = 1, 0
    while done < count:
        point = board[FIRST + 8 * done + STACK]
        done += 1
        for k in range(4):
            near = point + board[STEPS + k]
            is_group = board[near] == EMPTY or board[near] == colour or board[near] == colour + DEAD
            if is_group and board[near + MARK] == 0:
                board[near + MARK] = 1
                board[FIRST + 8 * count + STACK] = near
                count += 1
    for i in range(count):
        point = board[FIRST + 8 * i + STACK]
        board[FIRST + 8 * i + STACK] = 0
        board[point + MARK] = 0
        if board[point] != EMPTY:
            board[point] = marked


@helper
def _resume(board: Board) -> None:
    """Continue the match with the opponent's move; no stones are marked."""
    size = board[SIZE]
    for row in range(size):
        for column in range(size):
            point = point_at(board, row, column)
            if board[point] > DEAD:
                board[point] -= DEAD
    board[0] = 3 - board[0]
    board[STAGE] = board[LAST] = 0
    board[RESUMED] = 1


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    size, n = board[SIZE], 0
    for row in range(size):
        for column in range(size):
            point = point_at(board, row, column)
            if board[STAGE]:
                if board[point] != EMPTY:
                    actions[n] = row * size + column
                    n += 1
            elif board[point] == EMPTY and is_legal(board, point):
                if board[SUPERKO] and has_been(board, key_after(board, point)):
                    continue
                actions[n] = row * size + column
                n += 1
    actions[n] = size * size
    if board[STAGE]:
        n += 1
        actions[n] = size * size + 1
    return n + 1


@kernel
def play(board: Board, action: int) -> None:
    size, player = board[SIZE], board[0]
    cells = size * size
    if board[STAGE]:
        count(board, action)
        return
    board[0] = 3 - player
    board[PLY] += 1
    board[KO] = 0
    if action == cells:
        if board[LAST] == PASS:
            end_play(board)
        board[LAST] = PASS
    else:
        point = point_of(board, action)
        board[LAST] = point
        board[point] = player
        board[PUT + player - 1] += board[TERRITORY]
        board[HASH] ^= stone_key(point, player)
        enclosed, captured, ko = True, 0, 0
        for k in range(4):
            near = point + board[STEPS + k]
            if board[near] == EMPTY or board[near] == player:
                enclosed = False
        for k in range(4):
            near = point + board[STEPS + k]
            if board[near] == 3 - player:
                taken = surrounded(board, near, 0)
                for i in range(taken):
                    ko = board[FIRST + 8 * i + STACK]
                    board[ko] = EMPTY
                    board[HASH] ^= stone_key(ko, 3 - player)
                    board[FIRST + 8 * i + STACK] = 0
                captured += taken
        if enclosed and captured == 1:
            board[KO] = ko
        if has_been(board, board[HASH]):
            board[1] = -1
        remember(board, board[HASH])
    if board[1] == 0 and board[STAGE] == 0 and board[PLY] >= 2 * cells:
        board[1] = outcome_by_points(board)


@kernel
def write(board: Board, state: Vector) -> None:
    cells = board[SIZE] * board[SIZE]
    state[:2] = board[:2]
    state[2] = board[PLY]
    state[3] = action_of(board, board[LAST]) if board[LAST] else -1
    state[4] = action_of(board, board[KO]) if board[KO] else -1
    for action in range(cells):
        colour = board[point_of(board, action)]
        state[5 + action] = colour - 1 if colour > DEAD else colour
    for i in range(2 * cells):
        state[5 + cells + i] = board[board[POSITIONS] + i]
    if board[COUNTING] or board[TERRITORY]:
        first = 5 + 3 * cells
        state[first : first + 3] = board[STAGE : MARKED + 1]
        state[first + 3 : first + 5] = board[PUT : PUT + 2]


@kernel
def read(state: Vector, board: Board) -> None:
    cells = board[SIZE] * board[SIZE]
    board[:2] = state[:2]
    board[PLY] = min(max(state[2], 0), 2 * cells)
    board[HASH] = 0
    board[STAGE : MARKED + 1] = 0
    board[PUT : PUT + 2] = 0
    if board[COUNTING]:
        first = 5 + 3 * cells
        board[STAGE] = min(max(state[first], 0), 2)
        board[RESUMED] = min(max(state[first + 1], 0), 1)
        board[MARKED] = min(max(state[first + 2], 0), cells)
    if board[TERRITORY]:
        board[PUT : PUT + 2] = state[5 + 3 * cells + 3 : 5 + 3 * cells + 5]
    for action in range(cells):
        point, colour = point_of(board, action), state[5 + action]
        board[point] = EMPTY
        if colour == 1 or colour == 2:
            board[point] = colour
            board[HASH] ^= stone_key(point, colour)
        elif board[STAGE] and (colour == 3 or colour == 4):
            board[point] = colour + 1
            board[HASH] ^= stone_key(point, colour - 2)
    board[LAST] = board[KO] = 0
    if state[3] == cells:
        board[LAST] = PASS
    elif 0 <= state[3] < cells:
        board[LAST] = point_of(board, state[3])
    if 0 <= state[4] < cells and state[5 + state[4]] == 0:
        board[KO] = point_of(board, state[4])
    board[SEEN] = 0
    board[board[POSITIONS] :] = 0
    for i in range(2 * cells):
        if state[5 + cells + i] == 0:
            break
        remember(board, state[5 + cells + i])
