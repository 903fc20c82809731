"""Ladders of Go: whether atari after atari captures a chain of two liberties.

The opponent takes one of the two liberties, and the player extends to the other one. The chain is
caught if that leaves it one liberty. It has escaped if that leaves it three, or if the player can
capture instead. With two liberties it goes on; then both attacks are tried.

Stones are put on the board for that and are taken away again; the chains of `chains` stay as they
are, so they are found here by flood fill.
"""

from __future__ import annotations

from games.core.kernels import Board, helper
from games.goban.layout import EMPTY, FIRST, MARK, SIZE, STACK, STEPS

#: A ladder is given up after this many attacks, in all lines together.
_MOST_ATTACKS = 60
_ESCAPED = 3


@helper
def liberties(board: Board, stone: int) -> tuple[int, int, int]:
    """Return how many liberties the chain of a stone has, three at most, and two of them."""
    end = _gather(board, stone, 0)
    found = _liberties(board, 0, end)
    clear(board, end)
    return found


@helper
def clear(board: Board, end: int) -> None:
    """Clear the stack up to a place, and the marks of its points."""
    for i in range(end):
        board[board[FIRST + 8 * i + STACK] + MARK] = 0
        board[FIRST + 8 * i + STACK] = 0


@helper
def catches(board: Board, stone: int, point: int) -> bool:
    """Return whether an attack on one of its two liberties captures the chain of a stone."""
    depth = attacks = 0
    most = (3 * board[SIZE] + 3) // 2  # what is placed has room on the stack above every chain
    while True:
        left = _attack(board, stone, point, depth)
        attacks += 1
        if left < 2 or attacks == _MOST_ATTACKS:
            break
        if left == 2 and depth + 1 < most:
            depth += 1
            _, point, _ = liberties(board, stone)
            continue
        while True:  # take back to a position in which another attack is left
            tried = _take_back(board, depth)
            if depth == 0:
                return False
            _, first, point = liberties(board, stone)
            if tried == first:
                break
            depth -= 1
    for each in range(depth, -1, -1):
        _take_back(board, each)
    return left < 2


@helper
def catching_point(board: Board, stone: int) -> int:
    """Return an attack that captures the chain of a stone in a ladder, or 0."""
    count, first, second = liberties(board, stone)
    if count == 2:
        if catches(board, stone, first):
            return first
        if catches(board, stone, second):
            return second
    return 0


@helper
def is_caught_at(board: Board, point: int, player: int) -> bool:
    """Return whether a ladder captures the chain of a new stone that captures nothing itself."""
    board[point] = player
    caught = catching_point(board, point) != 0
    board[point] = EMPTY
    return caught


@helper
def _attack(board: Board, stone: int, point: int, depth: int) -> int:
    """Take a liberty of a chain and extend it to the other; return its liberties, three at most."""
    place, player = _place(board, depth), board[stone]
    board[point] = 3 - player
    board[place] = point
    count, _, _ = liberties(board, point)
    if count == 0 or _can_capture(board, stone):
        return _ESCAPED
    _, last, _ = liberties(board, stone)
    board[last] = player
    board[place - 8] = last
    count, _, _ = liberties(board, stone)
    return count


@helper
def _take_back(board: Board, depth: int) -> int:
    """Take away the stones of an attack, and return where it was."""
    place = _place(board, depth)
    point, last = board[place], board[place - 8]
    board[place] = board[place - 8] = 0
    board[point] = EMPTY
    if last:
        board[last] = EMPTY
    return point


@helper
def _place(board: Board, depth: int) -> int:
    """Return the word for the point of an attack; they are on the stack, from its end."""
    records = (board[SIZE] + 1) * (board[SIZE] + 2)
    return FIRST + 8 * (records - 2 * depth) + STACK


@helper
def _can_capture(board: Board, stone: int) -> bool:
    """Return whether a chain of the opponent beside the chain of a stone has one liberty."""
    opponent = 3 - board[stone]
    end = beside = _gather(board, stone, 0)
    found = False
    for i in range(beside):
        point = board[FIRST + 8 * i + STACK]
        for k in range(4):
            near = point + board[STEPS + k]
            if board[near] == opponent and board[near + MARK] == 0:
                first = end
                end = _gather(board, near, first)
                count, _, _ = _liberties(board, first, end)
                found = found or count == 1
    clear(board, end)
    return found


@helper
def _gather(board: Board, stone: int, first: int) -> int:
    """Put the chain of a stone on the stack, from a place of it, and mark it; return its end."""
    colour = board[stone]
    board[stone + MARK] = 1
    board[FIRST + 8 * first + STACK] = stone
    done, end = first, first + 1
    while done < end:
        point = board[FIRST + 8 * done + STACK]
        done += 1
        for k in range(4):
            near = point + board[STEPS + k]
            if board[near] == colour and board[near + MARK] == 0:
                board[near + MARK] = 1
                board[FIRST + 8 * end + STACK] = near
                end += 1
    return end


@helper
def _liberties(board: Board, first: int, end: int) -> tuple[int, int, int]:
    """Return how many liberties a chain on the stack has, three at most, and two of them."""
    count = one = other = 0
    for i in range(first, end):
        point = board[FIRST + 8 * i + STACK]
        for k in range(4):
            near = point + board[STEPS + k]
            if board[near] == EMPTY and near != one and near != other:
                count += 1
                if count == 1:
                    one = near
                elif count == 2:
                    other = near
                else:
                    return count, one, other
    return count, one, other
