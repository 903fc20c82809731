"""Chains of Go that are kept up to date from move to move, for playouts.

The stones of a chain form a ring by `NEXT`, and their `HEAD` is one of them. At the head,
`LIBERTIES` has the pseudo-liberties of the chain: an empty point counts once for each stone next to
it. Their number, their sum and the sum of their squares share a word, to which a liberty is added
and from which it is subtracted as a whole. A chain is in atari if all its pseudo-liberties are the
same point; then, and only then, number times squares equals the square of the sum (an idea of
Jonathan K. Millen's, on the computer-go mailing list).

A search spends most of its time here. So indices are unsigned, which saves the test whether they
are negative, and neighbours are updated whether or not they have stones: points without a stone
have the head `NO_CHAIN`, whose liberties are never read. Both make a playout a quarter faster.
"""

from __future__ import annotations

import numpy as np

from playout.games.core.kernels import Board, at, helper, inlined_helper
from playout.games.core.random import Rng, draw
from playout.games.goban.position import (
    BORDER,
    EMPTIES,
    EMPTY,
    FIRST,
    HASH,
    HEAD,
    KO,
    LIBERTIES,
    LISTED,
    MARK,
    NEXT,
    NO_CHAIN,
    PASS,
    PLACE,
    SIZE,
    STACK,
    STEPS,
    SUPERKO,
    has_been,
    point_at,
    stone_key,
)

# At most 4 * 361 pseudo-liberties, and points are records below 426: 11, 22 and 30 bits.
_SUM, _NUMBER = 30, 52
_SUM_BITS, _SQUARE_BITS = (1 << 22) - 1, (1 << 30) - 1


@helper
def liberty(point: int) -> int:
    """Return the word of a pseudo-liberty."""
    record = point >> 3
    return (1 << _NUMBER) + (record << _SUM) + record * record


@inlined_helper
def in_atari(liberties: int) -> bool:
    """Return whether pseudo-liberties are one point, or none."""
    total = liberties >> _SUM & _SUM_BITS
    return (liberties >> _NUMBER) * (liberties & _SQUARE_BITS) == total * total


@helper
def only_liberty(liberties: int) -> int:
    """Return the liberty of a chain in atari."""
    return (liberties >> _SUM & _SUM_BITS) // (liberties >> _NUMBER) << 3


@helper
def liberties_of(board: Board, stone: int) -> int:
    """Return the pseudo-liberties of the chain of a stone."""
    return at(board, at(board, stone + HEAD) + LIBERTIES)


@helper
def prepare(board: Board) -> None:
    """Find the chains and the empty points of a position."""
    size = board[SIZE]
    board[EMPTIES] = 0
    for row in range(size):
        for column in range(size):
            point = point_at(board, row, column)
            if board[point] == EMPTY:
                enlist(board, point)
                continue
            liberties = 0
            for k in range(4):
                near = point + board[STEPS + k]
                liberties += liberty(near) if board[near] == EMPTY else 0
            board[point + HEAD] = board[point + NEXT] = point
            board[point + LIBERTIES] = liberties
            for k in range(2):  # above and to the left: the others are not prepared
                near = point + board[STEPS + k]
                if board[near] == board[point]:
                    join(board, near, point)


@helper
def enlist(board: Board, point: int) -> None:
    """Add a point to the list of empty ones."""
    board[FIRST + 8 * board[EMPTIES] + LISTED] = point
    board[point + PLACE] = board[EMPTIES]
    board[point + HEAD] = NO_CHAIN
    board[EMPTIES] += 1


@inlined_helper
def exchange(board: Board, one: int, other: int) -> None:
    """Exchange two places of the list of empty points."""
    here, there = np.uint64(FIRST + 8 * one + LISTED), np.uint64(FIRST + 8 * other + LISTED)
    first, second = board[here], board[there]
    board[here] = second
    board[there] = first
    board[np.uint64(second + PLACE)] = one
    board[np.uint64(first + PLACE)] = other


@inlined_helper
def join(board: Board, stone: int, other: int) -> None:
    """Make one chain of the chains of two stones, with the head of the first."""
    head, old = at(board, stone + HEAD), at(board, other + HEAD)
    if head == old:
        return
    board[np.uint64(head + LIBERTIES)] += at(board, old + LIBERTIES)
    each = old
    while True:
        board[np.uint64(each + HEAD)] = head
        each = at(board, each + NEXT)
        if each == old:
            break
    last, first = np.uint64(head + NEXT), np.uint64(old + NEXT)
    board[last], board[first] = board[first], board[last]


@helper
def capture(board: Board, stone: int) -> int:
    """Remove a chain, and return the number of its stones."""
    head, colour = board[stone + HEAD], board[stone]
    each, count = head, 0
    while True:
        board[each] = EMPTY
        board[HASH] ^= stone_key(each, colour)
        enlist(board, each)
        gained = liberty(each)
        for k in range(4):
            board[board[each + board[STEPS + k] + HEAD] + LIBERTIES] += gained
        count += 1
        each = board[each + NEXT]
        if each == head:
            return count


@helper
def capture_all(board: Board, point: int, chosen: int) -> int:
    """Remove the chains next to a point that the bits choose, and return the number of stones."""
    count = 0
    for k in range(4):
        if chosen >> k & 1:
            count += capture(board, point + board[STEPS + k])
    return count


@inlined_helper
def put(board: Board, point: int, player: int) -> int:
    """Put a stone on a point, set the ko point, and return the number of captured stones."""
    last = board[EMPTIES] - 1
    exchange(board, at(board, point + PLACE), last)
    board[EMPTIES] = last
    lost, liberties, own, dead = liberty(point), 0, 0, 0
    for k in range(4):
        near = point + board[STEPS + k]
        colour = at(board, near)
        word = np.uint64(at(board, near + HEAD) + LIBERTIES)
        left = board[word] - lost
        board[word] = left
        liberties += liberty(near) if colour == EMPTY else 0
        own |= (colour == player) << k
        dead |= ((colour == 3 - player) & (left == 0)) << k
    board[np.uint64(point)] = player
    board[HASH] ^= stone_key(point, player)
    board[np.uint64(point + HEAD)] = board[np.uint64(point + NEXT)] = point
    board[np.uint64(point + LIBERTIES)] = liberties
    for k in range(4):
        if own >> k & 1:
            join(board, point + board[STEPS + k], point)
    captured = capture_all(board, point, dead) if dead else 0
    board[KO] = 0
    if captured == 1 and own == 0 and liberties == 0:
        board[KO] = board[FIRST + 8 * last + LISTED]
    return captured


@inlined_helper
def fills_no_eye(board: Board, point: int, player: int) -> bool:
    """Return whether an empty point is a legal move that does not fill an eye of the player.

    An eye is enclosed by stones of the player that hold enough of the diagonal points, so that they
    are connected or can be: all but one, at the border all.
    """
    around = 0
    for k in range(4):
        around += 1 << 8 * at(board, point + board[STEPS + k])
    if around & 255:
        return not repeats(board, point, player)
    eye, legal = True, False
    for k in range(4):
        near = point + board[STEPS + k]
        colour = at(board, near)
        if colour == player:
            legal = legal or not in_atari(liberties_of(board, near))
        elif colour != BORDER:
            eye = False
            legal = legal or in_atari(liberties_of(board, near))
    if not legal or point == board[KO] or (eye and _has_diagonals(board, point, player)):
        return False
    return not repeats(board, point, player)


@inlined_helper
def _has_diagonals(board: Board, point: int, player: int) -> bool:
    hostile = border = 0
    for k in range(4, 8):
        colour = at(board, point + board[STEPS + k])
        if colour == BORDER:
            border = 1
        elif colour == 3 - player:
            hostile += 1
    return hostile + border < 2


@inlined_helper
def repeats(board: Board, point: int, player: int) -> bool:
    """Return whether a move is illegal because of the position after it."""
    if board[SUPERKO] == 0:
        return False
    key = board[HASH] ^ stone_key(point, player)
    for k in range(4):
        near = point + board[STEPS + k]
        if board[near] == 3 - player and in_atari(liberties_of(board, near)):
            head, is_new = board[near + HEAD], True
            for j in range(k):
                other = point + board[STEPS + j]
                if board[other] == 3 - player and board[other + HEAD] == head:
                    is_new = False
            each = head
            while is_new:
                key ^= stone_key(each, 3 - player)
                each = board[each + NEXT]
                if each == head:
                    break
    return has_been(board, key)


@helper
def liberties_after(board: Board, point: int, player: int) -> int:
    """Return the pseudo-liberties of the chain of a new stone, without those from captures."""
    liberties = 0
    for k in range(4):
        near = point + board[STEPS + k]
        if board[near] == EMPTY:
            liberties += liberty(near)
        elif board[near] == player:
            liberties -= liberty(point)
            is_new = True
            for j in range(k):
                other = point + board[STEPS + j]
                if board[other] == player and board[other + HEAD] == board[near + HEAD]:
                    is_new = False
            if is_new:
                liberties += liberties_of(board, near)
    return liberties


@helper
def captures(board: Board, point: int, player: int) -> bool:
    """Return whether a move on an empty point captures."""
    for k in range(4):
        near = point + board[STEPS + k]
        if board[near] == 3 - player and in_atari(liberties_of(board, near)):
            return True
    return False


@helper
def is_safe(board: Board, point: int, player: int) -> bool:
    """Return whether a move captures, or leaves its chain more than one liberty."""
    return captures(board, point, player) or not in_atari(liberties_after(board, point, player))


@inlined_helper
def random_point(board: Board, rng: Rng, player: int) -> int:
    """Return a random legal move that fills no eye of the player, or PASS if there is none."""
    left = board[EMPTIES]
    while left > 0:
        pick = draw(rng, left)
        point = at(board, FIRST + 8 * pick + LISTED)
        if fills_no_eye(board, point, player):
            return point
        left -= 1
        exchange(board, pick, left)
    return PASS


# Ladders of Go: whether atari after atari captures a chain of two liberties.
#
# The opponent takes one of the two liberties, and the player extends to the other one. The chain is
# caught if that leaves it one liberty. It has escaped if that leaves it three, or if the player can
# capture instead. With two liberties the ladder continues, and both attacks are tried.
#
# For this, stones are put on the board and taken away again, without an update of the chains. So
# those of a ladder are found by flood fill.


#: A ladder is given up after this many attacks, in all lines together.
_MOST_ATTACKS = 60
_ESCAPED = 3


@helper
def liberties(board: Board, stone: int, enough: int, first: int) -> tuple[int, int, int]:
    """Return how many liberties the chain of a stone has, `enough` at most, and two of them.

    The search uses the stack from its place `first`.
    """
    colour = board[stone]
    board[stone + MARK] = 1
    board[FIRST + 8 * first + STACK] = stone
    done, end = first, first + 1
    count = one = other = 0
    while done < end and count < enough:
        point = at(board, FIRST + 8 * done + STACK)
        done += 1
        for k in range(4):
            near = point + board[STEPS + k]
            beside = at(board, near)
            if beside == EMPTY and near != one and near != other:
                count += 1
                one, other = (near, other) if count == 1 else (one, near)
            elif beside == colour and at(board, near + MARK) == 0:
                board[near + MARK] = 1
                board[FIRST + 8 * end + STACK] = near
                end += 1
    clear(board, first, end)
    return min(count, enough), one, other


@helper
def clear(board: Board, first: int, end: int) -> None:
    """Clear the stack between two places, and the marks of its points."""
    for i in range(first, end):
        board[board[FIRST + 8 * i + STACK] + MARK] = 0
        board[FIRST + 8 * i + STACK] = 0


@helper
def catches(board: Board, stone: int, point: int) -> bool:
    """Return whether an attack on one of its two liberties captures the chain of a stone."""
    depth = attacks = 0
    most = (3 * board[SIZE] + 3) // 2  # its stones have room on the stack above every chain
    while True:
        count, one, _ = _attack(board, stone, point, depth)
        attacks += 1
        if count < 2 or attacks == _MOST_ATTACKS:
            break
        if count == 2 and depth + 1 < most:
            depth += 1
            point = one
            continue
        while True:  # take back to a position in which another attack is left
            tried = _take_back(board, depth)
            if depth == 0:
                return False
            _, one, point = liberties(board, stone, 2, 0)
            if tried == one:
                break
            depth -= 1
    for each in range(depth, -1, -1):
        _take_back(board, each)
    return count < 2


@helper
def catching_point(board: Board, stone: int) -> int:
    """Return an attack that captures the chain of a stone in a ladder, or 0."""
    count, one, other = liberties(board, stone, 3, 0)
    if count == 2:
        if catches(board, stone, one):
            return one
        if catches(board, stone, other):
            return other
    return 0


@helper
def is_caught_at(board: Board, point: int, player: int) -> bool:
    """Return whether a ladder captures the chain of a new stone that captures nothing itself."""
    board[point] = player
    caught = catching_point(board, point) != 0
    board[point] = EMPTY
    return caught


@helper
def _attack(board: Board, stone: int, point: int, depth: int) -> tuple[int, int, int]:
    """Take a liberty of a chain and extend it to the other one; return `liberties` of it."""
    place, player = _place(board, depth), board[stone]
    board[point] = 3 - player
    board[place] = point
    count, _, _ = liberties(board, point, 1, 0)
    extension = _only_extension(board, stone) if count else 0
    if extension == 0:
        return _ESCAPED, 0, 0
    board[extension] = player
    board[place - 8] = extension
    return liberties(board, stone, 3, 0)


@helper
def _only_extension(board: Board, stone: int) -> int:
    """Return the liberty of a chain in atari, or 0 if it can capture a chain beside it."""
    colour, liberty = board[stone], 0
    board[stone + MARK] = 1
    board[FIRST + STACK] = stone
    done, end, captures = 0, 1, False
    while done < end and not captures:
        point = at(board, FIRST + 8 * done + STACK)
        done += 1
        for k in range(4):
            near = point + board[STEPS + k]
            beside = at(board, near)
            if beside == EMPTY:
                liberty = near
            elif beside == 3 - colour:
                count, _, _ = liberties(board, near, 2, end)
                captures = captures or count == 1
            elif beside == colour and at(board, near + MARK) == 0:
                board[near + MARK] = 1
                board[FIRST + 8 * end + STACK] = near
                end += 1
    clear(board, 0, end)
    return 0 if captures else liberty


@helper
def _take_back(board: Board, depth: int) -> int:
    """Take away the stones of an attack, and return where it was."""
    place = _place(board, depth)
    point, extension = board[place], board[place - 8]
    board[place] = board[place - 8] = 0
    board[point] = EMPTY
    if extension:
        board[extension] = EMPTY
    return point


@helper
def _place(board: Board, depth: int) -> int:
    """Return the word for the point of an attack; they are on the stack, from its end."""
    records = (board[SIZE] + 1) * (board[SIZE] + 2)
    return FIRST + 8 * (records - 2 * depth) + STACK
