"""m,n,k: k in a row on m columns and n rows; more than k count too.

Actions are the cells, row by row, as in OpenSpiel. `gomoku` is the same game under another name.
"""

from __future__ import annotations

from games import (
    Board,
    KernelGame,
    Kernels,
    State,
    Vector,
    View,
    checked,
    helper,
    kernel,
    square_name,
)
from games.core.kernels import uncompiled
from games.core.random import GAMMA, Rng, below

# board: the header below, then for each player the lines of all four directions, a word each:
# rows, columns, falling diagonals, rising diagonals. A stone is one bit in each of its four lines,
# so that a row of k is found by shifts, without walking and without a branch.
_M, _N, _RECIPROCAL, _EMPTY, _SHIFTS = 2, 3, 4, 5, 6
_LINES = 11

MAX_SIDE = 19


@helper
def lines_of(m: int, n: int) -> int:
    """How many lines a player has."""
    return n + m + 2 * (m + n - 1)


@helper
def put(board: Board, player: int, action: int) -> bool:
    """Put a stone on an empty cell; does it make a row of k?"""
    m, n = board[_M], board[_N]
    row = action * board[_RECIPROCAL] >> 16  # action // m, exact for every cell of 19x19
    column = action - row * m
    first = _LINES + (player - 1) * lines_of(m, n)
    level = first + row
    upright = first + n + column
    falling = first + n + m + row - column + m - 1
    rising = first + n + m + m + n - 1 + row + column
    board[level] |= 1 << column
    board[upright] |= 1 << row
    board[falling] |= 1 << column
    board[rising] |= 1 << column
    # Two lines a word, with room between them; after each shift, a bit says that a longer run
    # starts there. The shifts add up to k - 1; those not needed are 0 and change nothing.
    straight = board[level] | board[upright] << 32
    oblique = board[falling] | board[rising] << 32
    for i in range(_SHIFTS, _LINES):
        straight &= straight >> board[i]
        oblique &= oblique >> board[i]
    return (straight | oblique) != 0


@kernel
def start(board: Board, params: Vector) -> None:
    m, n, k = params
    board[:] = 0
    board[0] = 1
    board[_M] = m
    board[_N] = n
    board[_RECIPROCAL] = (1 << 16) // m + 1
    board[_EMPTY] = m * n
    run = 1
    for i in range(_SHIFTS, _LINES):
        board[i] = min(run, k - run)
        run += board[i]


@kernel
def legal(board: Board, actions: Vector) -> int:
    count = 0
    if board[1] == 0:
        m, n = board[_M], board[_N]
        for row in range(n):
            taken = board[_LINES + row] | board[_LINES + lines_of(m, n) + row]
            for column in range(m):
                if not taken >> column & 1:
                    actions[count] = row * m + column
                    count += 1
    return count


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[_EMPTY] -= 1
    if put(board, player, action):
        board[1] = player
    elif board[_EMPTY] == 0:
        board[1] = -1
    board[0] = 3 - player


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    # A random permutation of the empty cells, drawn as far as the game goes.
    n = legal(board, trace)
    player = board[0]
    ply = 0
    state = rng[0]
    while ply < n:
        state += GAMMA
        pick = ply + below(state, n - ply)
        action = trace[pick]
        trace[pick] = trace[ply]
        trace[ply] = action
        ply += 1
        won = put(board, player, action)
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


class MNK(KernelGame):
    """k in a row on a board of m columns and n rows."""

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, m: int = 15, n: int = 15, k: int = 5) -> None:
        checked("mnk", "m", m, 1, MAX_SIDE)
        checked("mnk", "n", n, 1, MAX_SIDE)
        checked("mnk", "k", k, 1, max(m, n))
        self.m, self.n, self.k = m, n, k
        size = _LINES + 2 * uncompiled(lines_of)(m, n)
        super().__init__((m, n, k), board=size, state=2 + m * n, actions=m * n, plies=m * n)

    def action_name(self, state: State, action: int) -> str:
        return square_name(*divmod(action, self.m))

    def view(self, state: State) -> View:
        clicks = {action: (action,) for action in self.legal_actions(state)}
        return View(self.n, self.m, state[2:], clicks, piece="stone")
