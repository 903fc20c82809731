"""The encoding `cells`: a position as planes of numbers, the input of a net, for every game.

Each plane has the rows and columns of the game's view; its numbers are 0 or 1.

| plane | has 1 in |
| --- | --- |
| 0 | the cells of the player to move |
| 1 | the cells of the other player |
| 2 | the cells of the last action, if they follow from the position |
| 3 | every cell |
| 4 | every cell, if player 1 is to move |
| 5 | the cells to click for the legal actions |
| 6 | the cells of blocks that the player to move has won |
| 7 | the cells of blocks that the other player has won |

Only games whose views have blocks with winners have the last two. The planes depend on the position
and the last action alone. They commute with the symmetries of the game: moving the cells of every
plane gives the planes of the moved position.

Games with kernels whose cells are numbers of the state are encoded by compiled functions, the
others through their views, with the same result. A compiled function that takes kernels costs 0.2
ms a call, and reading the board of a state 2 µs; games in which each empty cell is legal are
encoded without kernels. The arrays of the layout are separate arguments: as one tuple, they cost 2
µs a call.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Board, Game, GridGame, KernelGame, Vector, helper
from playout.games.core.kernels import SIGNATURES, compiled
from playout.players.core.cells import clicks_of
from playout.players.nets.files import NetError

PLANES, BLOCK_PLANES = 6, 2
NAME = "cells"
VERSION = 1

_VECTOR, _TABLE, _OUT = types.int64[::1], types.int64[:, ::1], types.float32[:, :, ::1]
_READ, _LEGAL = (types.FunctionType(SIGNATURES[name]) for name in ("read", "legal"))
_BLOCKS = types.FunctionType(SIGNATURES["blocks"])


class Encoding:
    """Encodes positions of one game; several threads may use the same object."""

    def __init__(self, game: Game) -> None:
        game.require_no_chance("the encoding of nets does not show the dice of")
        self.game = game
        self._size = len(game.initial_state())
        self.shape = board_shape(game)
        self._clicks = clicks_of(game)
        self._words = np.array(game.cell_words, dtype=np.int64)
        self._legal_if_empty = isinstance(game, GridGame) and game.legal_if_empty
        self._block_of = _block_of(game)
        #: Whether positions are encoded by compiled functions.
        self.compiled = (
            isinstance(game, KernelGame)
            and self._clicks.table is not None
            and min(game.cell_words, default=-1) >= 0
            and all(owner == number for number, (owner, _) in enumerate(game.pieces))
            and (self._block_of is None or game.kernels.blocks is not None)
        )

    def encode(self, states: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the planes [n, plane, row, column] of states and the actions that led to them.

        `states` is [n, numbers of a state]; `last` is [n], -1 for an unknown action.
        """
        out = np.empty((len(states), *self.shape), dtype=np.float32)
        self.encode_into(states, last, out)
        return out

    def encode_into(
        self,
        states: NDArray[np.int64],
        last: NDArray[np.int64],
        out: NDArray[np.float32],
        legal: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> None:
        """Write the result of `encode` into a contiguous array of its shape.

        `legal` are the legal actions [n, i] and how many they are [n], if they are known. Raises
        ValueError if a shape is wrong, or if a state has no player to move.
        """
        states = np.ascontiguousarray(states, dtype=np.int64)
        last = np.ascontiguousarray(last, dtype=np.int64)
        self._check(states, last, out)
        planes = out.reshape(len(states), self.shape[0], -1)
        if self.compiled:
            self._encode_compiled(states, last, planes, legal)
        else:
            for state, action, each in zip(states.tolist(), last.tolist(), planes, strict=True):
                self._encode_view(tuple(state), action, each)

    def _check(
        self, states: NDArray[np.int64], last: NDArray[np.int64], out: NDArray[np.float32]
    ) -> None:
        n = len(states)
        for name, array, shape in (
            ("states", states, (n, self._size)),
            ("last", last, (n,)),
            ("out", out, (n, *self.shape)),
        ):
            if array.shape != shape:
                text = f"{name} of {self.game} must have the shape {shape}, not {array.shape}"
                raise ValueError(text)
        if out.dtype != np.float32 or not out.flags.c_contiguous:
            raise ValueError("out must be a contiguous array of float32")
        if n and not ((states[:, 0] == 1) | (states[:, 0] == 2)).all():
            raise ValueError("the player to move, the first number of each state, must be 1 or 2")

    def _encode_compiled(
        self,
        states: NDArray[np.int64],
        last: NDArray[np.int64],
        planes: NDArray[np.float32],
        known: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    ) -> None:
        game, words, clicks = self.game, self._words, self._clicks.table
        assert isinstance(game, KernelGame)
        assert clicks is not None
        drop = self.shape[2] if self._clicks.falls else 0
        _write_cells(states, last, planes, words, clicks, drop)
        if self._block_of is not None and game.kernels.blocks is not None:
            winners = np.empty(self._block_of.max() + 1, dtype=np.int64)
            _mark_blocks(states, planes, self._block_of, winners, game.kernels.blocks)
        if self._legal_if_empty:
            _mark_empty(states, planes, words, clicks, drop)
            return
        if known is not None:
            _mark_known(states, planes, words, clicks, drop, *known)
            return
        origin, actions = game.board(), np.empty(game.num_actions, dtype=np.int64)
        work = (origin, origin.copy(), actions)
        read, legal = game.kernels.read, game.kernels.legal
        _mark_legal(states, planes, words, clicks, drop, *work, read, legal)

    def _encode_view(self, state: tuple[int, ...], last: int, planes: NDArray[np.float32]) -> None:
        """Encode one position through the view of the game: the definition of the planes."""
        player, view = self.game.current_player(state), self.game.view(state)
        cells = np.array(view.cells)
        planes[0] = cells == player
        planes[1] = cells == 3 - player
        planes[2] = 0
        planes[2, self._clicks.cells_of(last, view.cells, view.columns)] = 1
        planes[3] = 1
        planes[4] = player == 1
        planes[5] = 0
        for clicked in view.clicks.values():
            planes[5, list(clicked)] = 1
        if self._block_of is not None:
            winners = np.array(view.blocks)[self._block_of]
            planes[6] = winners == player
            planes[7] = winners == 3 - player


def board_shape(game: Game) -> tuple[int, int, int]:
    """Return the shape of one encoded position: planes, rows and columns.

    Raises NetError for a game whose view has no cells.
    """
    view = game.view(game.initial_state())
    if not view.cells:
        raise NetError(f"nets need a game whose view has cells, and {game} has none")
    planes = PLANES + BLOCK_PLANES if block_side(game) > 1 else PLANES
    return planes, view.rows, view.columns


def block_side(game: Game) -> int:
    """Return the cells per block in each direction, 1 without blocks that have winners.

    Raises NetError if these blocks do not cover the board.
    """
    view = game.view(game.initial_state())
    if not view.blocks:
        return 1
    side, rows, columns = view.block, view.rows, view.columns
    if side < 1 or rows % side or columns % side or len(view.blocks) * side**2 != rows * columns:
        raise NetError(
            f"the view of {game} has the winners of {len(view.blocks)} blocks of {side} x {side} "
            f"cells, which do not cover {rows} x {columns} cells"
        )
    return side


def _block_of(game: Game) -> NDArray[np.int64] | None:
    """Return the number of each cell's block, row by row; None without blocks that have winners."""
    if (side := block_side(game)) == 1:
        return None
    view = game.view(game.initial_state())
    rows, columns = np.divmod(np.arange(len(view.cells)), view.columns)
    return rows // side * (view.columns // side) + columns // side


@helper
def mark(
    plane: NDArray[np.float32],
    state: Vector,
    words: Vector,
    clicks: NDArray[np.int64],
    action: int,
    drop: int,
) -> None:
    """Set the cells to click for an action: those of `clicks`, or those to which its piece falls.

    `drop` is the number of columns if pieces fall, otherwise 0.
    """
    for i in range(clicks.shape[1]):
        cell = clicks[action, i]
        if cell >= 0:
            while drop and cell + drop < len(words) and state[words[cell + drop]] == 0:
                cell += drop
            plane[cell] = 1.0


@compiled(types.void(_TABLE, _VECTOR, _OUT, _VECTOR, _TABLE, types.int64), allocates=False)
def _write_cells(
    states: NDArray[np.int64],
    last: Vector,
    out: NDArray[np.float32],
    words: Vector,
    clicks: NDArray[np.int64],
    drop: int,
) -> None:
    """Write planes 0 to 4, and zeros into plane 5."""
    cells = len(words)
    for i in range(len(states)):
        state, own, other, played = states[i], out[i, 0], out[i, 1], out[i, 2]
        player = state[0]
        for cell in range(cells):
            owner = state[words[cell]]
            own[cell] = np.float32(owner == player)
            other[cell] = np.float32(owner == 3 - player)
        played[:] = 0.0
        out[i, 3][:] = 1.0
        out[i, 4][:] = np.float32(player == 1)
        out[i, 5][:] = 0.0
        if 0 <= last[i] < len(clicks):
            for j in range(clicks.shape[1]):
                cell = clicks[last[i], j]
                while drop and 0 <= cell < cells and state[words[cell]] == 0:
                    cell += drop
                if 0 <= cell < cells:
                    played[cell] = 1.0


@compiled(types.void(_TABLE, _OUT, _VECTOR, _VECTOR, _BLOCKS), allocates=False)
def _mark_blocks(
    states: NDArray[np.int64],
    out: NDArray[np.float32],
    block_of: Vector,
    winners: Vector,
    blocks: Callable[..., None],
) -> None:
    """Write planes 6 and 7; `winners` is working memory, a number for each block."""
    for i in range(len(states)):
        player = states[i, 0]
        blocks(states[i], winners)
        for cell in range(len(block_of)):
            winner = winners[block_of[cell]]
            out[i, 6, cell] = np.float32(winner == player)
            out[i, 7, cell] = np.float32(winner == 3 - player)


@compiled(types.void(_TABLE, _OUT, _VECTOR, _TABLE, types.int64, _TABLE, _VECTOR), allocates=False)
def _mark_known(
    states: NDArray[np.int64],
    out: NDArray[np.float32],
    words: Vector,
    clicks: NDArray[np.int64],
    drop: int,
    legal: NDArray[np.int64],
    numbers: Vector,
) -> None:
    """Write plane 5 from the legal actions."""
    for i in range(len(states)):
        for j in range(numbers[i]):
            mark(out[i, 5], states[i], words, clicks, legal[i, j], drop)


@compiled(types.void(_TABLE, _OUT, _VECTOR, _TABLE, types.int64), allocates=False)
def _mark_empty(
    states: NDArray[np.int64],
    out: NDArray[np.float32],
    words: Vector,
    clicks: NDArray[np.int64],
    drop: int,
) -> None:
    """Write plane 5 if an action is legal when its cell is empty."""
    for i in range(len(states)):
        state, plane = states[i], out[i, 5]
        if state[1] == 0:
            for action in range(len(clicks)):
                cell = clicks[action, 0]
                if cell >= 0 and state[words[cell]] == 0:
                    mark(plane, state, words, clicks, action, drop)


@compiled(
    types.void(
        *(_TABLE, _OUT, _VECTOR, _TABLE, types.int64),
        *(_VECTOR, _VECTOR, _VECTOR, _READ, _LEGAL),
    ),
    allocates=False,
)
def _mark_legal(
    states: NDArray[np.int64],
    out: NDArray[np.float32],
    words: Vector,
    clicks: NDArray[np.int64],
    drop: int,
    origin: Board,
    board: Board,
    actions: Vector,
    read: Callable[..., None],
    legal: Callable[..., int],
) -> None:
    """Write plane 5 with the kernels; `board` and `actions` are working memory."""
    for i in range(len(states)):
        state, plane = states[i], out[i, 5]
        for j in range(len(board)):  # a slice would be copied through allocated memory
            board[j] = origin[j]
        read(state, board)
        for j in range(legal(board, actions)):
            mark(plane, state, words, clicks, actions[j], drop)
