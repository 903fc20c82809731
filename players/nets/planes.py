"""How the state of a game relates to its view, as found in random positions.

A game may declare the cells of its actions, because some actions are rare in random positions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import BoardView, Game, State
from playout.players.nets.files import NetError

#: The fewest positions that are compared; the most, while something is unknown, as for the four
#: cells of Othello without an action; the most per cell, on a large board; and the plies between
#: two compared positions.
FEWEST, MOST, MOST_PER_CELL, APART = 100, 400, 3, 5


class Layout(NamedTuple):
    """The grid of a game's view, its cells in the state, and the cells of the actions."""

    rows: int
    columns: int
    #: [cell] its index in the state; None unless every cell has one.
    words: NDArray[np.int64] | None
    #: [action, i] the cells to click for it, padded with -1; None if they depend on the position.
    #: If pieces fall, the top cell of the column.
    clicks: NDArray[np.int64] | None
    #: Whether the piece of an action falls to the lowest empty cell of its column.
    falls: bool
    #: Whether, until the game is over, an action is legal if its cell in `clicks` is empty.
    empty_is_legal: bool
    #: [cell] the number of its block; None unless the view has the winners of blocks.
    block_of: NDArray[np.int64] | None = None

    def cells_of(self, last: int, cells: Sequence[int]) -> list[int]:
        """Return the cells of the action that led to a position with `cells`; [] if unknown."""
        if self.clicks is None or not 0 <= last < len(self.clicks):
            return []
        clicked = [cell for cell in self.clicks[last].tolist() if cell >= 0]
        if not self.falls:
            return clicked
        column = (each for top in clicked for each in range(top, len(cells), self.columns))
        return [cell for cell in column if cells[cell]][:1]


def layout_of(game: Game) -> Layout:
    """Return the layout of a game, the same at each call.

    Raises NetError for a game whose view has no cells.
    """
    state = game.initial_state()
    first = game.view(state)
    if not first.cells:
        raise NetError(f"nets need a game whose view has cells, and {game} has none")
    seen = _Seen(game.num_actions, len(first.cells), len(state))
    for action, cells in enumerate(getattr(game, "action_cells", ())):
        seen.clicked[action].add(cells)
    most = max(MOST, MOST_PER_CELL * len(seen.equal))
    for n, state in enumerate(islice(random_positions(game), 0, most * APART, APART)):
        view = game.view(state)
        seen.add(state, view)
        if n >= FEWEST and seen.all_known():
            break
    known = seen.words(), *seen.clicks(view.columns), _blocks(first, block_side(game))
    return Layout(view.rows, view.columns, *known)


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


class _Seen:
    """Cells of views compared with states, and the cells clicked for each action."""

    def __init__(self, actions: int, cells: int, words: int) -> None:
        self.equal = np.ones((cells, words), dtype=np.bool_)
        self.equal[:, :2] = False  # the player to move and the outcome
        self.clicked: list[set[tuple[int, ...]]] = [set() for _ in range(actions)]
        self.falls = True
        self.empty_is_legal = self.empty_top_is_legal = True

    def add(self, state: State, view: BoardView) -> None:
        self.equal &= np.array(view.cells)[:, None] == np.array(state)
        for action, cells in view.clicks.items():
            self.clicked[action].add(cells)
            self.falls = self.falls and _lands(view, cells)
        if state[1] == 0:
            empty = {cell for cell, owner in enumerate(view.cells) if owner == 0}
            named = sorted(cell for cells in view.clicks.values() for cell in cells)
            self.empty_is_legal &= named == sorted(empty)
            tops = sorted(cell % view.columns for cell in named)
            self.empty_top_is_legal &= tops == sorted(empty & set(range(view.columns)))

    def all_known(self) -> bool:
        return all(self.clicked) and int(self.equal.sum(axis=1).max()) <= 1

    def words(self) -> NDArray[np.int64] | None:
        known = bool((self.equal.sum(axis=1) == 1).all())
        return self.equal.argmax(axis=1).astype(np.int64) if known else None

    def clicks(self, columns: int) -> tuple[NDArray[np.int64] | None, bool, bool]:
        """Return the last three fields of the layout."""
        if (table := _table(self.clicked)) is not None:
            return table, False, self.empty_is_legal
        if self.falls:
            tops: list[set[tuple[int, ...]]] = [
                {(cells[0] % columns,) for cells in each} for each in self.clicked
            ]
            if (table := _table(tops)) is not None:
                return table, True, self.empty_top_is_legal
        return None, False, False


def random_positions(game: Game) -> Iterator[State]:
    """Yield positions of random matches, endlessly; the same ones at each call."""
    draw = random.Random(1)
    while True:
        state = game.initial_state()
        actions = game.legal_actions(state)
        yield state
        while actions:
            state, actions = game.step(state, draw.choice(actions))
            yield state


def _blocks(view: BoardView, side: int) -> NDArray[np.int64] | None:
    """Return the number of each cell's block, row by row; None without blocks that have winners."""
    if side == 1:
        return None
    rows, columns = np.divmod(np.arange(len(view.cells)), view.columns)
    return rows // side * (view.columns // side) + columns // side


def _lands(view: BoardView, cells: tuple[int, ...]) -> bool:
    """Return whether `cells` is only the lowest empty cell of a column."""
    if len(cells) != 1:
        return False
    below = view.cells[cells[0] :: view.columns]
    return below[0] == 0 and all(below[1:])


def _table(clicked: Sequence[set[tuple[int, ...]]]) -> NDArray[np.int64] | None:
    """Return a row with the cells of each action, padded with -1; None if an action has several."""
    if any(len(each) > 1 for each in clicked):
        return None
    rows = [next(iter(each), ()) for each in clicked]
    table = np.full((len(rows), max(1, *map(len, rows))), -1, dtype=np.int64)
    for action, cells in enumerate(rows):
        table[action, : len(cells)] = cells
    return table
