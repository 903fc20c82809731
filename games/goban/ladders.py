"""Ladders of Go: whether atari after atari captures a chain of two liberties.

The opponent takes one of the two liberties, and the player extends to the other one. The chain is
caught if that leaves it one liberty. It has escaped if that leaves it three, or if the player can
capture instead. With two liberties the ladder continues, and both attacks are tried.

For this, stones are put on the board and taken away again. The chains of `chains` are not updated,
so they are found here by flood fill.
"""

from __future__ import annotations

from playout.games.core.kernels import Board, at, helper
from playout.games.goban.points import EMPTY, FIRST, MARK, SIZE, STACK, STEPS

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
