"""Connect Four: four in a row on seven columns of six. Action = column, as in OpenSpiel."""

from __future__ import annotations

import functools
from typing import ClassVar

from playout.games import Board, GridGame, Kernels, State, Vector, helper, kernel
from playout.games.core.bits import count, lowest, nth, owners_codec
from playout.games.core.grid import rows_of_pieces
from playout.games.core.kernels import insert
from playout.games.core.random import GAMMA, Rng, below

ROWS, COLUMNS = 6, 7

# board: player, outcome, discs of player 1, discs of player 2. A column takes seven bits, lowest
# row first; the seventh stays empty, so that no line of four continues from the top of one column
# to the bottom of the next. The whole board has 49 bits.
_STRIDE = 7
_BITS = [column * _STRIDE + ROWS - 1 - row for row in range(ROWS) for column in range(COLUMNS)]
_COLUMN = (1 << ROWS) - 1
_TOPS = sum(1 << (column * _STRIDE + ROWS - 1) for column in range(COLUMNS))
_FEET = sum(1 << column * _STRIDE for column in range(COLUMNS))
_CELLS = sum(_COLUMN << (column * _STRIDE) for column in range(COLUMNS))


@helper
def has_four(discs: int) -> bool:
    """Return whether there is a line of four: in each direction pairs, then pairs of pairs."""
    vertical = discs & discs >> 1
    level = discs & discs >> 7
    rising = discs & discs >> 8
    falling = discs & discs >> 6
    return (
        vertical & vertical >> 2
        | level & level >> 14
        | rising & rising >> 16
        | falling & falling >> 12
    ) != 0


@helper
def landing(taken: int, column: int) -> int:
    """Return the bit where a disc lands: the carry of an addition at the bottom of the column."""
    shift = column * _STRIDE
    return taken + (1 << shift) & _COLUMN << shift


@helper
def completions(discs: int) -> int:
    """Return the cells, taken or not, that would complete a line of four with those discs."""
    cells = discs << 1 & discs << 2 & discs << 3
    for stride in (6, 7, 8):
        pair = discs << stride & discs << 2 * stride
        cells |= pair & (discs << 3 * stride | discs >> stride)
        pair = discs >> stride & discs >> 2 * stride
        cells |= pair & (discs >> 3 * stride | discs << stride)
    return cells & _CELLS


@helper
def worth_playing(own: int, other: int, room: int) -> int:
    """Return the cells of `room` that win, else those that do not lose at once, else all."""
    wins = completions(own) & room
    if wins:
        return wins
    threats = completions(other)
    if threats & room:
        room &= threats
    safe = room & ~(threats >> 1)  # not below a cell where the opponent would win
    return safe if safe else room


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    if board[1] == 0:
        taken = board[2] | board[3]
        for column in range(COLUMNS):
            if not taken >> (column * _STRIDE + ROWS - 1) & 1:
                actions[n] = column
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    taken = board[2] | board[3]
    disc = landing(taken, action)
    board[1 + player] |= disc
    board[0] = 3 - player
    if has_four(board[1 + player]):
        board[1] = player
    elif taken | disc == _CELLS:
        board[1] = -1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player = board[0]
    own, other = board[1 + player], board[4 - player]
    # The columns that are not full, four bits each, so that a shift selects a random one.
    room = n = ply = outcome = 0
    for column in range(COLUMNS):
        if not (own | other) >> (column * _STRIDE + ROWS - 1) & 1:
            room |= column << 4 * n
            n += 1
    state = rng[0]
    while True:
        state += GAMMA
        pick = below(state, n) * 4
        column = room >> pick & 7
        trace[ply] = column
        ply += 1
        disc = landing(own | other, column)
        own |= disc
        if has_four(own):
            outcome = player
            break
        if disc & _TOPS:
            n -= 1
            if n == 0:
                outcome = -1
                break
            last = room >> 4 * n & 7
            room ^= (column ^ last) << pick
        own, other = other, own
        player = 3 - player
    rng[0] = state
    board[0] = 3 - player
    board[1] = outcome
    board[1 + player], board[4 - player] = own, other
    return ply


@kernel
def decisive(board: Board, rng: Rng, trace: Vector) -> int:
    player = board[0]
    own, other = board[1 + player], board[4 - player]
    ply, outcome = 0, board[1]
    state = rng[0]
    while outcome == 0:
        room = (own | other) + _FEET & _CELLS
        cells = worth_playing(own, other, room)
        state += GAMMA
        cell = nth(cells, below(state, count(cells)))
        trace[ply] = cell // _STRIDE
        ply += 1
        own |= 1 << cell
        if has_four(own):
            outcome = player
        elif own | other == _CELLS:
            outcome = -1
        own, other = other, own
        player = 3 - player
    rng[0] = state
    board[0] = player
    board[1] = outcome
    board[1 + player], board[4 - player] = own, other
    return ply


@kernel
def sensible(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    own, other = board[1 + board[0]], board[4 - board[0]]
    taken = own | other
    cells = worth_playing(own, other, taken + _FEET & _CELLS)
    n = 0
    while cells:
        disc = cells & -cells
        cells ^= disc
        column = lowest(disc) // _STRIDE
        # More threats first; with equal threats, the more central column first.
        promise = 8 * count(completions(own | disc) & ~taken) - abs(column - COLUMNS // 2)
        insert(actions, n, -promise << 8 | column)
        n += 1
    for i in range(n):
        actions[i] &= 255
    return n


class ConnectFour(GridGame):
    """Discs fall down one of seven columns; four in a row win."""

    about = (
        "Players take turns to drop a disc into one of seven columns, where it falls onto the "
        "discs below; a column holds six. The first player with four in a row, vertically, "
        "horizontally or diagonally, wins; a full board without four in a row is a tie."
    )
    groups = ("rows", "quick")
    first_steps = (
        "Click a column to drop a disc into it. You win with four of your discs in a row, in any "
        "direction. Look first whether the opponent could complete four with the next disc. The "
        "middle column is worth most: more rows of four go through it than through any other."
    )

    rows, columns = ROWS, COLUMNS
    look: ClassVar = {"geometry": "columns", "piece": "disc", "surface": "blue"}
    row_names = ()
    falls = legal_if_empty = True

    kernels = Kernels(legal, play, playout, *owners_codec(_BITS), decisive, sensible)

    def __init__(self) -> None:
        cells = ROWS * COLUMNS
        super().__init__(board=4, state=2 + cells, actions=COLUMNS, plies=cells)

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the top cell of its column."""
        return tuple((column,) for column in range(COLUMNS))

    def action_name(self, state: State, action: int) -> str:
        return str(action + 1)

    def note(self, state: State) -> str:
        return "four in a row" if state[1] > 0 else ""

    def winning(self, state: State) -> tuple[int, ...]:
        return rows_of_pieces(self.cells(state), COLUMNS, state[1], 4) if state[1] > 0 else ()
