"""International draughts on 10 by 10 squares: flying kings, and the longest capture must be played.

Action = (from - 1) * 50 + to - 1, with the numbers of squares, 1 to 50, as draughts players use
them. To capture several pieces, a player makes one action for each; only actions that begin a
longest capture are legal. Captured pieces are removed after the last of these actions.

A match is a tie after 25 moves of each player in a row by kings and without a capture; with one
king against three pieces, at least one of them a king, after 16 moves of each; and against two or
one, after 5. Repeated positions do not end it earlier.
"""

from __future__ import annotations

import functools
import itertools
from typing import ClassVar

import numpy as np
from numba import types

from playout.games import Board, Kernels, State, Vector, helper, kernel
from playout.games.core.bits import count, lowest, nth, without_lowest
from playout.games.core.grid import JumpingGame, PlacedFen
from playout.games.core.kernels import LEVEL, bounded, compiled
from playout.games.core.pdn import placed_numbers
from playout.games.core.random import GAMMA, Rng, below
from playout.games.core.symmetries import identity

SIDE = 10
CELLS = SIDE * SIDE
SQUARES = CELLS // 2
ROW = SIDE // 2
DIRECTIONS = 4
#: Plies in a row by kings and without a capture that are a tie; FEW_PLIES has their number for one
#: king against 1, 2 or 3 pieces, one of them a king.
QUIET_PLIES = 50
FEW_PLIES = (QUIET_PLIES, 10, 10, 32)
#: Each of at most 300 moves of men and 39 captures begins another QUIET_PLIES.
PLIES = QUIET_PLIES * 340

# board: player, outcome, pieces of player 1, pieces of player 2, kings of both, the piece that must
# capture again, the pieces that it has captured, plies in a row by kings and without a capture.
# Sets of squares are words in which a step up is a shift by 6 to the left and by 5 to the right,
# wherever it begins: after each ten squares one bit is left out, which stands for both edges.
_KINGS, _JUMPER, _CAPTURED, _QUIET = 4, 5, 6, 7
_ALL = sum(1 << (square + square // SIDE) for square in range(SQUARES))
_TOP, _BOTTOM = 0b11111, 0b11111 << 49

# state: the cells of the whole board (0 empty, 1 and 2 men of the players, 3 and 4 kings, and 4
# more for captured pieces until the capture ends), the square of the piece that must capture again
# or NO_PIECE, and the plies in a row by kings and without a capture.
NO_PIECE = -1

#: The cell of each square, both counted from 0.
_CELL_OF = np.array([2 * square + (square // ROW + 1) % 2 for square in range(SQUARES)])


@helper
def bit_of(square: int) -> int:
    """Return the word with only the bit of a square set."""
    return 1 << square + square // SIDE


@helper
def square_of(bit: int) -> int:
    """Return the square of the lowest bit of a word."""
    return lowest(bit) - lowest(bit) // (SIDE + 1)


@helper
def shifted(squares: int, direction: int) -> int:
    """Return squares one step up left, up right, down right or down left."""
    step = 6 - (direction & 1)
    return squares << step if direction & 2 else squares >> step


@compiled(types.int64(types.int64, types.boolean, types.int64, types.int64), allocates=False)
def longest(piece: int, is_king: bool, prey: int, empty: int) -> int:
    """Return how many pieces of `prey` a piece can capture in one move."""
    most = 0
    for direction in range(DIRECTIONS):
        over = shifted(piece, direction)
        while is_king and over & empty:
            over = shifted(over, direction)
        landing = shifted(over & prey, direction) & empty
        while landing:
            most = max(most, 1 + longest(landing, is_king, prey & ~over, empty))
            landing = shifted(landing, direction) & empty if is_king else 0
    return most


@helper
def sides(board: Board) -> tuple[int, int]:
    """Return the pieces that the player to move may capture, and the empty squares."""
    return board[4 - board[0]] & ~board[_CAPTURED], _ALL & ~(board[2] | board[3])


@helper
def moves_of(board: Board, piece: int) -> tuple[int, int]:
    """Return the length of a piece's longest captures, and the squares on which they land first.

    If it cannot capture, these are 0 and the squares to which it can move.
    """
    prey, empty = sides(board)
    is_king = board[_KINGS] & piece != 0
    around = empty | piece
    most = targets = quiet = 0
    for direction in range(DIRECTIONS):
        over = shifted(piece, direction)
        if direction // 2 == board[0] - 1:
            quiet |= over & empty
        while is_king and over & around:
            quiet |= over & empty
            over = shifted(over, direction)
        landing = shifted(over & prey, direction) & around
        while landing:
            length = 1 + longest(landing, is_king, prey & ~over, around)
            if length > most:
                most, targets = length, 0
            if length == most:
                targets |= landing
            landing = shifted(landing, direction) & around if is_king else 0
    return most, targets if most else quiet


@helper
def movers(board: Board) -> tuple[int, int]:
    """Return the pieces that can capture, with all kings if one can, and those that can walk."""
    own, (prey, empty) = board[1 + board[0]], sides(board)
    if board[_JUMPER]:
        return board[_JUMPER], 0
    hunters, walkers, kings = 0, 0, own & board[_KINGS]
    for direction in range(DIRECTIONS):
        back = direction ^ 2
        before = shifted(empty, back)
        walkers |= before & (own if direction // 2 == board[0] - 1 else kings)
        before = shifted(prey & before, back)
        hunters |= own & before
        slid = shifted(kings, direction) & empty
        while slid:
            if slid & before:
                hunters |= kings
            slid = shifted(slid, direction) & empty
    return hunters, walkers


@helper
def nth_quiet_move(board: Board, n: int) -> tuple[int, int, int]:
    """Return the squares of the n-th move without a capture, or how many moves there are if fewer.

    The pieces move together, step by step in each direction.
    """
    own, empty = board[1 + board[0]], _ALL & ~(board[2] | board[3])
    kings = own & board[_KINGS]
    moves = 0
    for direction in range(DIRECTIONS):
        pieces = own if direction // 2 == board[0] - 1 else kings
        targets = shifted(pieces, direction) & empty
        slid = shifted(kings, direction) & empty
        steps = 1
        while targets:
            before = moves
            moves += count(targets)
            if n < moves:
                target = piece = 1 << nth(targets, n - before)
                for _ in range(steps):
                    piece = shifted(piece, direction ^ 2)
                return piece, target, moves
            slid = targets = shifted(slid, direction) & empty
            steps += 1
    return 0, 0, moves


@helper
def captured_between(piece: int, target: int, prey: int) -> int:
    """Return the piece of `prey` between two squares of a diagonal, 0 for none."""
    low, high = min(piece, target), max(piece, target)
    step = (lowest(high) - lowest(low)) // (square_of(high) // ROW - square_of(low) // ROW)
    over = low << step
    while over < high and over & prey == 0:
        over <<= step
    return over & prey & high - 1


@helper
def quiet_limit(board: Board) -> int:
    """Return the number of plies in a row by kings and without a capture that are a tie."""
    first, second = count(board[2]), count(board[3])
    few = min(first, second) == 1 and max(first, second) <= 3
    both_have_kings = board[2] & board[_KINGS] != 0 and board[3] & board[_KINGS] != 0
    return FEW_PLIES[max(first, second)] if few and both_have_kings else QUIET_PLIES


@helper
def advance(board: Board, piece: int, target: int, over: int, goes_on: bool) -> None:
    """Move a piece, which captures the piece `over`. The caller finds out who cannot move."""
    player = board[0]
    is_king = board[_KINGS] & piece != 0
    board[1 + player] ^= piece | target
    if is_king:
        board[_KINGS] ^= piece | target
    board[_CAPTURED] |= over
    board[_JUMPER] = target if goes_on else 0
    if goes_on:
        return
    board[4 - player] &= ~board[_CAPTURED]
    board[_KINGS] &= ~board[_CAPTURED]
    board[_CAPTURED] = 0
    board[_QUIET] = board[_QUIET] + 1 if is_king and not over else 0
    if not is_king and target & (_TOP if player == 1 else _BOTTOM):
        board[_KINGS] |= target
    board[0] = 3 - player
    if board[_QUIET] >= min(FEW_PLIES) and board[_QUIET] >= quiet_limit(board):
        board[1] = -1


@helper
def end_if_blocked(board: Board) -> None:
    """Set a loss of the player to move who has no move, in place of a tie."""
    if movers(board) == (0, 0):
        board[1] = 3 - board[0]


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    n = most = 0
    hunters, walkers = movers(board)
    pieces = hunters if hunters else walkers
    while pieces:
        piece = pieces & -pieces
        pieces = without_lowest(pieces)
        length, targets = moves_of(board, piece)
        if length > most:
            n, most = 0, length
        while targets and length == most:
            actions[n] = square_of(piece) * SQUARES + square_of(targets)
            targets = without_lowest(targets)
            n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    piece, target = bit_of(action // SQUARES), bit_of(action % SQUARES)
    prey, empty = sides(board)
    is_king = board[_KINGS] & piece != 0
    over = captured_between(piece, target, prey)
    goes_on = over != 0 and longest(target, is_king, prey & ~over, empty | piece) > 0
    advance(board, piece, target, over, goes_on)
    end_if_blocked(board)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply, state = 0, rng[0]
    while board[1] == 0:
        pieces, _ = movers(board)
        n = most = over = chosen = target = 0
        while pieces:  # each capture replaces the chosen one with the probability 1 / captures
            piece = pieces & -pieces
            pieces = without_lowest(pieces)
            length, targets = moves_of(board, piece)
            if length > most:
                n, most = 0, length
            if length == most:
                n += count(targets)
                state += GAMMA
                pick = below(state, n)
                if pick < count(targets):
                    chosen, target = piece, 1 << nth(targets, pick)
        if most:
            over = captured_between(chosen, target, sides(board)[0])
        else:
            n = nth_quiet_move(board, PLIES)[2]
            if n == 0:
                board[1] = 3 - board[0]
                break
            state += GAMMA
            chosen, target, _ = nth_quiet_move(board, below(state, n))
        trace[ply] = square_of(chosen) * SQUARES + square_of(target)
        ply += 1
        advance(board, chosen, target, over, most > 1)
    if board[1] == -1:
        end_if_blocked(board)
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    state[2 : 2 + CELLS] = 0
    for square in range(SQUARES):
        place = square + square // SIDE
        owner = (board[2] >> place & 1) + 2 * (board[3] >> place & 1)
        more = 2 * (board[_KINGS] >> place & 1) + 4 * (board[_CAPTURED] >> place & 1)
        state[2 + _CELL_OF[square]] = owner + more
    state[2 + CELLS] = square_of(board[_JUMPER]) + 1 if board[_JUMPER] else NO_PIECE
    state[3 + CELLS] = board[_QUIET]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2:] = 0
    for square in range(SQUARES):
        piece = state[2 + _CELL_OF[square]] - 1
        if 0 <= piece < 8:
            bit = bit_of(square)
            board[2 + piece % 2] |= bit
            board[_KINGS] |= bit if piece & 2 else 0
            board[_CAPTURED] |= bit if piece & 4 else 0
    board[_CAPTURED] &= board[4 - board[0]]
    jumper = state[2 + CELLS]
    if 1 <= jumper <= SQUARES:
        board[_JUMPER] = board[1 + board[0]] & bit_of(jumper - 1)
    board[_QUIET] = state[3 + CELLS]


@kernel
def observe(board: Board, observed: Vector) -> None:
    """Write the state and a number: the lead of player 1, which counts more if pieces are few."""
    write(board, observed[:-1])
    for at in range(2, 2 + CELLS):  # captured pieces count as removed
        observed[at] *= observed[at] <= 4
    first, second = board[2] & ~board[_CAPTURED], board[3] & ~board[_CAPTURED]
    one = count(first) + 2 * count(first & board[_KINGS])
    two = count(second) + 2 * count(second & board[_KINGS])
    lead = abs(one - two) * (LEVEL - 1) * 4 // (3 * (one + two + 1))
    observed[-1] = bounded(lead if one > two else -lead)


LABELS = tuple(str(cell // 2 + 1) if (cell // SIDE + cell) % 2 else "" for cell in range(CELLS))


class Draughts(JumpingGame):
    """International draughts: kings fly, and the longest capture must be played."""

    about = (
        "Men move one square diagonally forward. Any piece captures by jumping over a piece of the "
        "opponent onto the empty square behind, forwards and backwards, and goes on as long as it "
        "can; the captured pieces are removed at the end. A player who can capture must do so, and "
        "must capture as many pieces as possible. A man whose move ends on the far row becomes a "
        "king, which moves and captures over any distance. A player who cannot move loses. It is a "
        "tie after 25 moves of each player in a row by kings and without a capture; after 16 with "
        "one king against three pieces, and after 5 with one king against two or one, if one of "
        "them is a king. Each jump is a move of its own."
    )
    groups = ("classics", "capture")
    first_steps = (
        "Click a piece, then the square to which it moves or jumps; of several jumps, the last "
        "square is enough. Only captures are offered while you can capture, and only those that "
        "take the most pieces. You win when the opponent has no pieces or cannot move. Before each "
        "move, look what the opponent would have to capture, and what you could capture after that."
    )

    rows = columns = SIDE
    symmetries = (identity(CELLS, SQUARES * SQUARES),)  # half a turn exchanges the players
    pieces = ((0, ""), *((1, "man"), (2, "man"), (1, "king"), (2, "king")) * 2)
    material: ClassVar = {"man": 1, "king": 3}
    look: ClassVar = {"piece": "disc", "surface": "checkered", "cell_labels": LABELS}
    row_names = ()
    kernels = Kernels(legal, play, playout, write, read, observe=observe)
    features = (0.03,)
    exchange = "turned"

    def __init__(
        self,
        fen: PlacedFen = None,
    ) -> None:
        usual = [0] * CELLS
        for square, cell in enumerate(_CELL_OF.tolist()):
            usual[cell] = 2 if square < 20 else 1 if square >= 30 else 0
        player, cells = self.placed(usual, fen)
        quiet = placed_numbers(self, fen, QUIET_PLIES)
        super().__init__(
            first=(player, 0, *cells, NO_PIECE, quiet),
            board=8,
            state=4 + CELLS,
            actions=SQUARES * SQUARES,
            plies=PLIES,
        )
        self.require_moves(fen)

    def action_name(self, state: State, action: int) -> str:
        here, there = (square + 1 for square in divmod(action, SQUARES))
        begin, end = self.action_cells[action]
        rows = abs(end // SIDE - begin // SIDE)
        between = (begin + n * (end - begin) // rows for n in range(1, rows))
        return f"{here}{'x' if any(state[2 + cell] for cell in between) else '-'}{there}"

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells from which and to which it moves a piece."""
        return tuple(itertools.product(_CELL_OF.tolist(), repeat=2))

    def square_number(self, cell: int) -> str:
        return LABELS[cell]

    def note(self, state: State) -> str:
        jumper = state[2 + CELLS]
        return "" if jumper == NO_PIECE else f"{jumper} must capture again"
