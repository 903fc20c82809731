"""The cells of a game: as it declares them, or else as random positions show them.

Nets and evaluations see a position as the pieces on its cells. The games of this project declare
where a state has the cells, and which cells each action clicks. A game that does not is played at
random, and its states are compared with its views.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import BoardView, Game, SpecError, State

#: Positions whose states are compared with views, and plies between two of them.
COMPARED, APART = 400, 5
#: Minimum number of positions whose clicks are collected. Up to COMPARED are, or PER_CELL for each
#: cell of a large board, while no click is known of some action.
FEWEST, PER_CELL = 100, 3
#: Maximum number of words before the first cell.
_BEFORE = 16
#: A word that is no cell of the view counts as a cell if it is always below this.
_MANY = 62


class CellLayout(NamedTuple):
    """The cells of a game, row by row, and where they are in what `Game.observed` returns."""

    rows: int
    columns: int
    words: tuple[int, ...]  # [cell] index of its word, -1 for a cell that never changes
    pieces: Mapping[int, tuple[int, str]]  # by the number in a word: the player, and the kind
    is_shown: bool  # whether they are the cells of the view


class Clicks(NamedTuple):
    """The cells of the view that are clicked for each action."""

    #: [action, i] a cell, padded with -1; None if they depend on the position. If pieces fall, the
    #: top cell of the column.
    table: NDArray[np.int64] | None
    #: Whether the piece of an action falls to the lowest empty cell of its column.
    falls: bool

    def cells_of(self, last: int, cells: Sequence[int], columns: int) -> list[int]:
        """Return the cells of the action that led to a view with `cells`; [] if unknown."""
        if self.table is None or not 0 <= last < len(self.table):
            return []
        clicked = [cell for cell in self.table[last].tolist() if cell >= 0]
        if not self.falls:
            return clicked
        column = (each for top in clicked for each in range(top, len(cells), columns))
        return [cell for cell in column if cells[cell]][:1]


def random_positions(game: Game) -> Iterator[State]:
    """Yield positions of random matches, endlessly; the same ones at each call.

    Those in which nature moves are left out.
    """
    draw = random.Random(1)
    while True:
        state = game.initial_state()
        actions = game.legal_actions(state)
        while True:
            is_nature = actions and game.current_player(state) == 0
            if not is_nature:
                yield state
            if not actions:
                break
            action = game.roll(state, draw.randrange) if is_nature else draw.choice(actions)
            state, actions = game.step(state, action)


def cells_of(game: Game) -> CellLayout:
    """Return the cells of a game, the same at each call.

    A game without cells in its state has its small words instead, in a row. Raises SpecError if
    there are none.
    """
    if game.observed_board:
        rows, columns = game.observed_board
        return CellLayout(rows, columns, tuple(range(2, 2 + rows * columns)), {}, is_shown=False)
    if game.cell_words:
        first = game.view(game.initial_state())
        pieces = dict(enumerate(game.pieces))
        return CellLayout(first.rows, first.columns, game.cell_words, pieces, is_shown=True)
    states = list(islice(random_positions(game), 0, COMPARED * APART, APART))
    views = [game.view(state) for state in states]
    rows, columns = views[0].rows, views[0].columns
    shown = [
        list(each) for each in zip(*(view.counts or view.cells for view in views), strict=True)
    ]
    words = [list(each) for each in zip(*states, strict=True)]
    found = _block_of_words(shown, words, rows, columns) or _single_words(shown, words)
    if any(word >= 0 for word in found):
        return CellLayout(rows, columns, found, _pieces(states, views, found), is_shown=True)
    small = [at for at, each in enumerate(words) if at > 1 and -1 <= min(each) <= max(each) < _MANY]
    if not small:
        raise SpecError(f"no evaluation of {game} can be learned: its state has no small numbers")
    return CellLayout(1, len(small), tuple(small), {}, is_shown=False)


def _block_of_words(
    shown: list[list[int]], words: list[list[int]], rows: int, columns: int
) -> tuple[int, ...]:
    """Return the words of the cells if a state has them row by row, from the top or the bottom."""
    cells = range(rows * columns)
    upward = [(rows - 1 - cell // columns) * columns + cell % columns for cell in cells]
    for begin in range(2, min(2 + _BEFORE, len(words) - len(cells)) + 1):
        for order in (cells, upward):
            found = tuple(begin + at for at in order)
            if all(map(_determines, (words[word] for word in found), shown)):
                return found
    return ()


def _single_words(shown: list[list[int]], words: list[list[int]]) -> tuple[int, ...]:
    """Return for each cell that changes a word with a number for each content of the cell."""
    found: list[int] = []
    for cell in shown:
        matching = (
            word
            for word in range(2, len(words))
            if word not in found
            and len(set(cell)) > 1
            and _determines(words[word], cell)
            and _determines(cell, words[word])
        )
        found.append(next(matching, -1))
    return tuple(found)


def _determines(values: list[int], shown: list[int]) -> bool:
    """Return whether equal values are always shown as equal."""
    known: dict[int, int] = {}
    return all(
        known.setdefault(value, cell) == cell for value, cell in zip(values, shown, strict=True)
    )


def _pieces(
    states: list[State], views: list[BoardView], words: tuple[int, ...]
) -> dict[int, tuple[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    for state, view in zip(states, views, strict=True):
        kinds = view.kinds or ("",) * len(view.cells)
        for word, owner, kind in zip(words, view.cells, kinds, strict=True):
            if word >= 0 and state[word]:
                found[state[word]] = owner, kind
    return found


def clicks_of(game: Game) -> Clicks:
    """Return the cells that are clicked for the actions of a game, the same at each call."""
    if game.action_cells:
        return Clicks(_table([{cells} for cells in game.action_cells]), game.falls)
    clicked: list[set[tuple[int, ...]]] = [set() for _ in range(game.num_actions)]
    falls = True
    columns = game.view(game.initial_state()).columns
    cells = len(game.view(game.initial_state()).cells)
    most = max(COMPARED, PER_CELL * cells)
    for n, state in enumerate(islice(random_positions(game), 0, most * APART, APART)):
        view = game.view(state)
        for action, each in view.clicks.items():
            clicked[action].add(each)
            falls = falls and _lands(view, each)
        if n >= FEWEST and all(clicked):
            break
    if (table := _table(clicked)) is not None or not falls:
        return Clicks(table, falls=False)
    return Clicks(_table([{(each[0] % columns,) for each in cells} for cells in clicked]), falls)


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
