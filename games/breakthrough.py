"""Breakthrough: the first player to reach the opponent's edge wins.

Action ((row * columns + column) * 6 + direction) * 2 + capture moves the piece of a cell, as in
OpenSpiel. Directions 0 to 2 lead down the board, to the left, straight on and to the right, and 3
to 5 lead up likewise.
"""

from __future__ import annotations

import functools
from typing import Annotated, ClassVar

import numpy as np

from playout.games import Board, GridGame, Kernels, Option, State, Symmetry, Vector, helper, kernel
from playout.games.core.bits import count, grid, lowest, nth, read_owners, write_owners
from playout.games.core.grid import cells_of_moves
from playout.games.core.kernels import LEVEL, inlined, insert, uncompiled
from playout.games.core.random import GAMMA, Rng, below

# board: player, outcome, pieces of player 1, pieces of player 2, rows, columns, the cells in play.
# Pieces are the bits of a word, eight per row for every size: cell (row, column) is bit
# 8 * row + column. Words are stored as int64 and processed as uint64.
_ROWS, _COLUMNS, _CELLS = 4, 5, 6

MAX_SIDE = 8

_0, _1, _7, _8, _9 = (np.uint64(n) for n in (0, 1, 7, 8, 9))
_LEFT, _RIGHT = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ROW = np.uint64(0xFF)

#: Rows down and columns to the right for each direction.
_STEPS = ((1, -1), (1, 0), (1, 1), (-1, -1), (-1, 0), (-1, 1))


@helper
def row_bits(row: int) -> np.uint64:
    """Return the word of a whole row."""
    return _ROW << np.uint64(8 * row)


@helper
def leftward(pieces: np.uint64, player: int) -> np.uint64:
    """Return the cells one row ahead and one column to the left of the pieces."""
    inner = pieces & ~_LEFT
    return inner << _7 if player == 1 else inner >> _9


@helper
def rightward(pieces: np.uint64, player: int) -> np.uint64:
    """Return the cells one row ahead and one column to the right of the pieces."""
    inner = pieces & ~_RIGHT
    return inner << _9 if player == 1 else inner >> _7


@helper
def forward(pieces: np.uint64, player: int) -> np.uint64:
    """Return the cells one row ahead of the pieces."""
    return pieces << _8 if player == 1 else pieces >> _8


@helper
def sensible_targets(
    own: np.uint64, other: np.uint64, player: int, rows: int, cells: np.uint64
) -> np.uint64:
    """Return the cells to which sensible moves lead, whatever the direction.

    These are the cells that win: the last row, and the opponent's only piece. If no move reaches
    one of them, they are the cells after which the opponent does not win at once.
    """
    ahead = leftward(own, player) | rightward(own, player)
    targets = (ahead & ~own | forward(own, player) & ~(own | other)) & cells
    wins = row_bits(rows - 1 if player == 1 else 0) & cells
    if count(other) == 1:
        wins |= other
    if targets & wins:
        return wins
    safe = cells
    threats = other & row_bits(1 if player == 1 else rows - 2)
    if count(threats) == 1:
        safe = threats
    elif threats:
        safe = _0
    if count(own) == 1:  # the opponent wins by capturing it
        safe &= ~(leftward(other, 3 - player) | rightward(other, 3 - player))
    return safe if targets & safe else cells


@helper
def action_to(target: int, side: int, capture: bool, player: int, columns: int) -> int:
    """Return the action that leads to the bit `target`; side is -1 for left, 0, or 1 for right."""
    ahead = 1 if player == 1 else -1
    row, column = (target >> 3) - ahead, (target & 7) - side
    direction = side + 1 if player == 1 else side + 4
    return ((row * columns + column) * 6 + direction) * 2 + capture


@inlined
def move(board: Board, player: int, side: int, target: int) -> None:
    """Move a piece to the bit `target`, and set the outcome if that wins."""
    ahead = 8 if player == 1 else -8
    to, begin = _1 << np.uint64(target), _1 << np.uint64(target - ahead - side)
    other = np.uint64(board[4 - player]) & ~to
    board[1 + player] = np.int64(np.uint64(board[1 + player]) ^ to ^ begin)
    board[4 - player] = np.int64(other)
    if target >> 3 == (board[_ROWS] - 1 if player == 1 else 0) or not other:
        board[1] = player


@inlined
def run(board: Board, rng: Rng, trace: Vector, decisive: bool) -> int:
    """Play random moves to the end, all or only the sensible ones; return their number."""
    state = rng[0]
    ply = 0
    rows, columns, cells = board[_ROWS], board[_COLUMNS], np.uint64(board[_CELLS])
    while board[1] == 0:
        player = board[0]
        own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
        free = sensible_targets(own, other, player, rows, cells) if decisive else cells
        left = leftward(own, player) & ~own & free
        straight = forward(own, player) & ~(own | other) & free
        right = rightward(own, player) & ~own & free
        lefts, straights = count(left), count(straight)
        state += GAMMA
        pick = below(state, lefts + straights + count(right))
        if pick < lefts:
            side, target = -1, nth(left, pick)
        elif pick < lefts + straights:
            side, target = 0, nth(straight, pick - lefts)
        else:
            side, target = 1, nth(right, pick - lefts - straights)
        capture = (other >> np.uint64(target) & _1) != _0
        trace[ply] = action_to(target, side, capture, player, columns)
        ply += 1
        move(board, player, side, target)
        board[0] = 3 - player
    rng[0] = state
    return ply


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    player = board[0]
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    cells = np.uint64(board[_CELLS])
    left = leftward(own, player) & ~own & cells
    straight = forward(own, player) & ~(own | other) & cells
    right = rightward(own, player) & ~own & cells
    ahead = 8 if player == 1 else -8
    n = 0
    while own:
        begin = lowest(own)
        own &= own - _1
        for side in range(-1, 2):
            to = left if side < 0 else straight if side == 0 else right
            target = begin + ahead + side
            if 0 <= target < 64 and to >> np.uint64(target) & _1:
                capture = (other >> np.uint64(target) & _1) != _0
                actions[n] = action_to(target, side, capture, player, board[_COLUMNS])
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player, columns = board[0], board[_COLUMNS]
    cell, direction = action // 12, action // 2 % 6
    row = cell // columns
    side = direction % 3 - 1
    ahead = 1 if player == 1 else -1
    move(board, player, side, 8 * (row + ahead) + cell - row * columns + side)
    board[0] = 3 - player


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    return run(board, rng, trace, False)


@kernel
def decisive(board: Board, rng: Rng, trace: Vector) -> int:
    return run(board, rng, trace, True)


@kernel
def sensible(board: Board, actions: Vector) -> int:
    n = legal(board, actions)
    if n == 0:
        return 0
    player, rows, columns = board[0], board[_ROWS], board[_COLUMNS]
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    targets = sensible_targets(own, other, player, rows, np.uint64(board[_CELLS]))
    kept = 0
    for i in range(n):
        action = actions[i]
        cell, direction = action // 12, action // 2 % 6
        row = cell // columns + (1 if player == 1 else -1)
        column = cell % columns + direction % 3 - 1
        if targets >> np.uint64(8 * row + column) & _1:
            # Captures first, then the moves that lead furthest ahead.
            promise = (action & 1) * MAX_SIDE + (row if player == 1 else rows - 1 - row)
            insert(actions, kept, -promise << 16 | action)
            kept += 1
    for i in range(kept):
        actions[i] &= 0xFFFF
    return kept


@kernel
def forcing(board: Board, actions: Vector) -> int:
    """Write the sensible actions that capture or reach the last row."""
    if board[1]:
        return 0
    player, rows, columns = board[0], board[_ROWS], board[_COLUMNS]
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    cells = np.uint64(board[_CELLS])
    last = row_bits(rows - 1 if player == 1 else 0)
    targets = sensible_targets(own, other, player, rows, cells) & (other | last)
    n = 0
    for side in range(-1, 2):
        if side == 0:
            rest = forward(own, player) & targets & ~other
        else:
            rest = leftward(own, player) if side < 0 else rightward(own, player)
            rest &= targets & ~own
        while rest:
            target = lowest(rest)
            rest &= rest - _1
            capture = (other >> np.uint64(target) & _1) != _0
            actions[n] = action_to(target, side, capture, player, columns)
            n += 1
    return n


@helper
def steps_to_goal(own: np.uint64, player: int, rows: int) -> int:
    """Return the number of rows between the most advanced piece and its goal; 8 without pieces."""
    for steps in range(rows):
        if own & row_bits(rows - 1 - steps if player == 1 else steps):
            return steps
    return MAX_SIDE


@helper
def runners(own: np.uint64, other: np.uint64, player: int) -> np.uint64:
    """Return the pieces that no opponent can capture or block on the way straight ahead.

    While both walk towards each other, an opponent that is `n` rows ahead comes (n + 1) // 2
    columns nearer, the capture included.
    """
    reach = caught = other
    for ahead in range(1, MAX_SIDE - 1):
        reach = forward(reach, 3 - player)
        if ahead % 2 == 1:
            reach |= (reach & ~_LEFT) >> _1 | (reach & ~_RIGHT) << _1
        caught |= reach
    return own & ~caught


@kernel
def observe(board: Board, observed: Vector) -> None:
    """Write the state, the lead of runners, the lead in pieces, and how soon a runner wins."""
    end = len(observed) - 3
    observed[:2] = board[:2]
    write_owners(board[2], board[3], board[_COLUMNS], 8, observed[2:end])
    player, rows = board[0], board[_ROWS]
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    steps = steps_to_goal(runners(own, other, player), player, rows)
    against = steps_to_goal(runners(other, own, 3 - player), 3 - player, rows)
    sign = 1 if player == 1 else -1
    observed[end] = LEVEL + sign * (against - steps)
    observed[end + 1] = LEVEL + count(board[2]) - count(board[3])
    # The runner wins the race if it arrives before any piece of the opponent.
    sooner = 0
    if steps <= steps_to_goal(other, 3 - player, rows) and steps < MAX_SIDE:
        sooner = 16 - 2 * steps
    elif against < steps_to_goal(own, player, rows):
        sooner = 2 * against - 15
    observed[end + 2] = LEVEL + sign * sooner


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    write_owners(board[2], board[3], board[_COLUMNS], 8, state[2:])


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2], board[3] = read_owners(state[2:], board[_COLUMNS], 8)


class Breakthrough(GridGame):
    """Take one piece to the opposite edge of the board."""

    about = (
        "A piece moves one cell ahead, straight or diagonally, onto an empty cell. Diagonally, it "
        "also captures a piece of the opponent there, which is removed; straight ahead it cannot. "
        "The first player starts at the top and moves down, the second player moves up. A player "
        "wins by reaching the opposite edge of the board, or by capturing all pieces of the "
        "opponent. There are no ties."
    )
    groups = ("capture",)
    first_steps = (
        "Click one of your pieces, then the cell to which it goes. You win as soon as one of them "
        "reaches the far row. Keep a piece diagonally behind each piece that advances, so that "
        "you can recapture."
    )
    variants: ClassVar = {
        "rows=6,columns=6": "A short match on a small board.",
    }

    look: ClassVar = {"piece": "disc", "surface": "checkered"}

    kernels = Kernels(
        legal,
        play,
        playout,
        write,
        read,
        decisive,
        sensible,
        forcing=forcing,
        observe=observe,
    )
    features = (0.02, 0.1, 0.2)
    shapes = (
        # A piece, the cells from which it is attacked or defended, and those on its column.
        ((0, 0), (0, 1), (0, 2), (1, 1), (2, 0), (2, 1), (2, 2)),
    )
    exchange = "turned"

    def __init__(
        self,
        rows: Annotated[
            int,
            Option(
                "of the board, with two rows of pieces for each player from 6 on", ge=2, le=MAX_SIDE
            ),
        ] = 8,
        columns: Annotated[int, Option("of the board", ge=2, le=MAX_SIDE)] = 8,
    ) -> None:
        self.rows, self.columns = rows, columns
        home = 2 if rows >= 6 else 1
        # Without the last move, no piece goes further than the row before the last.
        steps = sum(rows - 2 - row for row in range(home))
        empty = (rows - 2 * home) * columns
        super().__init__(
            {_ROWS: rows, _COLUMNS: columns, _CELLS: uncompiled(grid)(rows, columns)},
            (1, 0, *[1] * home * columns, *[0] * empty, *[2] * home * columns),
            board=7,
            state=2 + rows * columns,
            actions=12 * rows * columns,
            plies=2 * columns * steps + 1,
        )

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells from which and to which it moves a piece."""
        return cells_of_moves(self.rows, self.columns, _STEPS, kinds=2)

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        # The others exchange the players.
        return tuple(each for each in super().symmetries if each.cells[0] < self.columns)

    def action_name(self, state: State, action: int) -> str:
        return ("x" if action % 2 else "").join(map(self.cell_name, self.action_cells[action]))
