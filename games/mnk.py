"""m,n,k: k in a row on m columns and n rows, k or more or exactly k.

Actions are the cells, row by row, as in OpenSpiel. `gomoku` is the same game under another name.
"""

from __future__ import annotations

import functools
from typing import Annotated, ClassVar

from playout.games import Board, GridGame, Kernels, Option, State, Vector, helper, kernel
from playout.games.core.bits import count, lowest, write_bits
from playout.games.core.grid import rows_of_pieces
from playout.games.core.kernels import inlined, inlined_helper, uncompiled
from playout.games.core.random import GAMMA, Rng, below, exchange, shuffled_playout

# board: the header below, then for each player the lines of all four directions, a word each:
# rows, columns, falling diagonals, rising diagonals. A stone is one bit in each of its four lines,
# so that shifts find a row of k, without a loop over cells and without a branch. Last, for each
# player and row, the cells where a stone completes a row of k or more, some of them taken since;
# _NOTED has a bit for each row with such cells.
_M, _N, _RECIPROCAL, _EMPTY, _K, _NOTED, _SHIFTS = 2, 3, 4, 5, 6, 7, 9
_EXACT = 14  # -1 if more than k in a row do not win, otherwise 0
_LINES = 15

MAX_SIDE = 20


@helper
def lines_of(m: int, n: int) -> int:
    """Return how many lines a board has in the four directions."""
    return n + m + 2 * (m + n - 1)


@inlined
def put(board: Board, player: int, action: int) -> bool:
    """Put a stone on an empty cell, or take it back.

    Returns whether there is a winning row in the four lines through the cell.
    """
    m, n = board[_M], board[_N]
    row = action * board[_RECIPROCAL] >> 16  # action // m, exact for every cell of 20x20
    column = action - row * m
    first = _LINES + (player - 1) * lines_of(m, n)
    level = first + row
    upright = first + n + column
    falling = first + n + m + row - column + m - 1
    rising = first + n + m + m + n - 1 + row + column
    board[level] ^= 1 << column
    board[upright] ^= 1 << row
    board[falling] ^= 1 << column
    board[rising] ^= 1 << column
    # Two lines per word, with a gap between them.
    straight = board[level] | board[upright] << 32
    oblique = board[falling] | board[rising] << 32
    return (winning_rows(board, straight) | winning_rows(board, oblique)) != 0


@inlined
def winning_rows(board: Board, stones: int) -> int:
    """Return a bit for the start of each row of k; of exactly k, if longer rows do not win.

    After each shift, a bit marks the start of a longer run. The shifts add up to k - 1; the unused
    ones are 0 and change nothing.
    """
    runs = stones
    for i in range(_SHIFTS, _EXACT):
        runs &= runs >> board[i]
    return runs & ~((stones << 1 | stones >> board[_K]) & board[_EXACT])


@helper
def wins_with(board: Board, player: int, action: int) -> bool:
    """Return whether a stone on an empty cell would make a winning row."""
    wins = put(board, player, action)
    put(board, player, action)
    return wins


@inlined
def completions(stones: int, k: int) -> int:
    """Return the places in a line, taken or not, that would complete a row of k.

    For each number of stones before the place, the rest of the k must follow it.
    """
    rest = stones
    for _ in range(k - 2):  # most lines have fewer than k - 1 stones
        rest &= rest - 1
    if rest == 0 and k > 1:
        return 0
    places = 0
    before = -1
    for i in range(k):
        both = before
        for j in range(1, k - i):
            both &= stones >> j
        places |= both
        before &= stones << (i + 1)
    return places


@helper
def cell_of(board: Board, line: int, place: int) -> int:
    """Return the cell at a place of a line, -1 if it is not on the board."""
    m, n = board[_M], board[_N]
    row, column = line, place
    if line >= n + m:
        rising = line - (n + m + m + n - 1)
        row, column = line - n - m - (m - 1) + place if rising < 0 else rising - place, place
    elif line >= n:
        row, column = place, line - n
    return row * m + column if 0 <= row < n and 0 <= column < m else -1


@inlined_helper
def note_line(board: Board, player: int, line: int, window: int) -> None:
    """Record the completions of one line of a player, within the places of `window`."""
    m, n = board[_M], board[_N]
    stones = board[_LINES + (player - 1) * lines_of(m, n) + line] & window
    places = completions(stones, board[_K])
    while places:
        cell = cell_of(board, line, lowest(places))
        places &= places - 1
        if cell >= 0:
            row = cell * board[_RECIPROCAL] >> 16
            board[_LINES + 2 * lines_of(m, n) + (player - 1) * n + row] |= 1 << (cell - row * m)
            board[_NOTED + player - 1] |= 1 << row


@inlined
def note_around(board: Board, player: int, action: int) -> None:
    """Record the completions in the four lines through a new stone."""
    m, n = board[_M], board[_N]
    row = action * board[_RECIPROCAL] >> 16
    column = action - row * m
    reach = board[_K] - 1
    near = (2 << 2 * reach) - 1
    level = near << column >> reach
    note_line(board, player, row, level)
    note_line(board, player, n + column, near << row >> reach)
    note_line(board, player, n + m + row - column + m - 1, level)
    note_line(board, player, n + m + m + n - 1 + row + column, level)


@helper
def note_all(board: Board) -> None:
    """Record the completions in every line of both players."""
    for line in range(lines_of(board[_M], board[_N])):
        note_line(board, 1, line, -1)
        note_line(board, 2, line, -1)


@inlined
def winning_cell(board: Board, player: int) -> int:
    """Return the first empty cell where a stone makes a winning row, or -1.

    A stone on a recorded cell may make more than k in a row, which does not win under the exact
    rule.
    """
    m, n = board[_M], board[_N]
    lines = lines_of(m, n)
    rows = board[_NOTED + player - 1]
    while rows:
        row = lowest(rows)
        rows &= rows - 1
        places = board[_LINES + 2 * lines + (player - 1) * n + row]
        places &= ~(board[_LINES + row] | board[_LINES + lines + row])
        while places:
            action = row * m + lowest(places)
            if board[_EXACT] == 0 or wins_with(board, player, action):
                return action
            places &= places - 1
        board[_NOTED + player - 1] &= ~(1 << row)
    return -1


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    m, n = board[_M], board[_N]
    end = 0
    for row in range(n):
        taken = board[_LINES + row] | board[_LINES + lines_of(m, n) + row]
        end = write_bits((1 << m) - 1 & ~taken, row * m, actions, end)
    return end


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[_EMPTY] -= 1
    if put(board, player, action):
        board[1] = player
    elif board[_EMPTY] == 0:
        board[1] = -1
    note_around(board, player, action)
    board[0] = 3 - player


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    end = legal(board, trace)
    ply = shuffled_playout(board, rng, trace, 0, end, put)
    board[_EMPTY] -= ply
    if board[1] == 0:
        board[1] = -1
    return ply


@kernel
def decisive(board: Board, rng: Rng, trace: Vector) -> int:
    n = legal(board, trace)
    player = board[0]
    ply = 0
    state = rng[0]
    while ply < n:
        action = winning_cell(board, player)
        if action < 0:
            action = winning_cell(board, 3 - player)
        if action < 0:
            state += GAMMA
            pick = ply + below(state, n - ply)
            action = trace[pick]
        else:
            pick = ply
            while trace[pick] != action:
                pick += 1
        exchange(trace, ply, pick)
        ply += 1
        won = put(board, player, action)
        note_around(board, player, action)
        player = 3 - player
        if won:
            board[1] = 3 - player
            break
    rng[0] = state
    board[0] = player
    board[_EMPTY] -= ply
    if board[1] == 0:
        board[1] = -1
    return ply


@kernel
def sensible(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    first, second = board[_NOTED], board[_NOTED + 1]
    action = winning_cell(board, board[0])
    if action < 0:
        action = winning_cell(board, 3 - board[0])
    board[_NOTED], board[_NOTED + 1] = first, second  # equal positions have equal boards
    if action < 0:
        return legal(board, actions)
    actions[0] = action
    return 1


@kernel
def forcing(board: Board, actions: Vector) -> int:
    n = sensible(board, actions)
    if n <= 1:  # a win, or the only answer
        return n
    cells, lines, k = board[_M] * board[_N], lines_of(board[_M], board[_N]), board[_K]
    own, other = _LINES, _LINES + lines
    if board[0] == 2:
        own, other = other, own
    actions[:cells] = 0
    for line in range(lines):
        begins = max(board[_M], board[_N]) - k + 1
        for begin in range(begins if count(board[own + line]) >= k - 2 else 0):
            stones = board[own + line] >> begin & (1 << k) - 1
            if count(stones) == k - 2 and (board[other + line] >> begin & (1 << k) - 1) == 0:
                ends = min(cell_of(board, line, begin), cell_of(board, line, begin + k - 1))
                for place in range(begin, begin + k):
                    if ends >= 0 and stones >> (place - begin) & 1 == 0:
                        actions[cell_of(board, line, place)] = 1
    n = 0
    for cell in range(cells):
        if actions[cell]:
            actions[n] = cell
            n += 1
    return n


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    m, n = board[_M], board[_N]
    for row in range(n):
        first, second = board[_LINES + row], board[_LINES + lines_of(m, n) + row]
        for column in range(m):
            state[2 + row * m + column] = (first >> column & 1) + 2 * (second >> column & 1)


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    cells = board[_M] * board[_N]
    board[_LINES:] = 0
    board[_EMPTY] = cells
    for action in range(cells):
        owner = state[2 + action]
        if owner == 1 or owner == 2:
            put(board, owner, action)
            board[_EMPTY] -= 1
    note_all(board)


class MNK(GridGame):
    """k in a row on a board of m columns and n rows."""

    title = "m,n,k-game"

    about = (
        "Players take turns to put a stone on an empty cell of a board with m columns and n rows. "
        "The first player with k or more in a row, vertically, horizontally or diagonally, wins; "
        "with `exact`, the first with exactly k. A full board without a winner is a tie."
    )
    groups: ClassVar[tuple[str, ...]] = ("rows",)
    first_steps = (
        "Click an empty cell. You win with k in a row. Look first whether the opponent could "
        "complete a row with the next move, then for a move that makes two threats at the same "
        "time."
    )
    variants: ClassVar = {
        "m=6,n=6,k=4": "The game of the net that comes with Playout.",
    }

    look: ClassVar = {"piece": "stone", "surface": "wood"}
    sgf_number = 4  # that of gomoku
    legal_if_empty = puts_stones = True

    kernels = Kernels(legal, play, playout, write, read, decisive, sensible, forcing=forcing)
    sorts_sensible = False

    def __init__(
        self,
        m: Annotated[int, Option("columns", ge=1, le=MAX_SIDE)] = 15,
        n: Annotated[int, Option("rows", ge=1, le=MAX_SIDE)] = 15,
        k: Annotated[
            int, Option("stones in a row that win, 1 to the length of the longer side")
        ] = 5,
        exact: Annotated[bool, Option("whether more than k stones in a row do not win")] = False,
    ) -> None:
        Option(ge=1, le=max(m, n)).check("mnk", "k", k)
        self.columns, self.rows, self.k, self.exact = m, n, k, exact
        size = _LINES + 2 * uncompiled(lines_of)(m, n) + 2 * n
        header = {_M: m, _N: n, _RECIPROCAL: (1 << 16) // m + 1, _K: k, _EXACT: -int(exact)}
        run = 1
        for shift in range(_SHIFTS, _EXACT):
            header[shift] = min(run, k - run)
            run += header[shift]
        super().__init__(header, board=size, state=2 + m * n, actions=m * n, plies=m * n)

    @functools.cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the actions at most two cells away; stones there affect each other."""
        cells = [divmod(action, self.columns) for action in range(self.num_actions)]
        return tuple(
            tuple(
                other * self.columns + column
                for other in range(max(0, row - 2), min(self.rows, row + 3))
                for column in range(max(0, centre - 2), min(self.columns, centre + 3))
                if (other, column) != (row, centre)
            )
            for row, centre in cells
        )

    def note(self, state: State) -> str:
        return f"{self.k} in a row" if state[1] > 0 else ""

    def winning(self, state: State) -> tuple[int, ...]:
        most = self.k if self.exact else None
        won = state[1] > 0
        return rows_of_pieces(state[2:], self.columns, state[1], self.k, most) if won else ()
