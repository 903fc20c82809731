"""Games on a grid of cells, whose actions are known by the cells that are clicked for them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from playout.games.core.game import KernelGame, State, square_name
from playout.games.core.symmetries import Symmetry, of_clicks
from playout.games.core.view import BoardView


class GridGame(KernelGame):
    """A game on a grid; names, clicks and symmetries follow from the cells of each action.

    A subclass sets `rows` and `columns`. By default, the cells follow the player to move and the
    outcome in a state, row by row. What else a view shows is for `note`, `winning` or `view`.
    """

    rows: int
    columns: int

    #: Members of each view, such as its `piece` and `surface`.
    look: ClassVar[Mapping[str, Any]] = {}
    #: Whether row 1 is the lowest row, as in chess; otherwise it is the highest.
    upward: ClassVar[bool] = False
    #: The name of the action without cells, for a game that has one, such as a pass.
    pass_name: ClassVar[str] = ""

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells of the view that are clicked for it, in order.

        They are () for a pass and for numbers that are never legal. By default, each action puts a
        piece on a cell, and if there is one more, that is a pass.
        """
        cells = self.rows * self.columns
        return (*((cell,) for cell in range(cells)), ())[: self.num_actions]

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The rotations and reflections of the grid that map actions to actions."""
        return of_clicks(self.rows, self.columns, self.action_cells)

    @functools.cached_property
    def row_names(self) -> tuple[str, ...]:
        """The names of the rows, from the top."""
        numbers = range(self.rows, 0, -1) if self.upward else range(1, self.rows + 1)
        return tuple(str(number) for number in numbers)

    def action_name(self, state: State, action: int) -> str:
        return "".join(map(self.cell_name, self.action_cells[action])) or self.pass_name

    def cell_name(self, cell: int) -> str:
        """Return the name of a cell of the view: the letter of its column and its row."""
        row, column = divmod(cell, self.columns)
        return square_name(self.rows - 1 - row if self.upward else row, column)

    def cells(self, state: State) -> tuple[int, ...]:
        """Return the number of the player on each cell of the view, 0 for none."""
        return state[2 : 2 + self.rows * self.columns]

    def note(self, state: State) -> str:
        """Return the text for people with what the cells do not show.

        The view adds `pass_name` if a player can only pass.
        """
        return ""

    def winning(self, state: State) -> tuple[int, ...]:
        """Return the cells by which a player has won, () for none."""
        return ()

    def view(self, state: State) -> BoardView:
        clicks = {action: self.action_cells[action] for action in self.legal_actions(state)}
        note = self.note(state)
        if len(clicks) == 1 and () in clicks.values():
            note = f"{note}, {self.pass_name}" if note else self.pass_name
        return BoardView(
            self.rows,
            self.columns,
            self.cells(state),
            clicks,
            row_names=self.row_names,
            note=note,
            winning=self.winning(state),
            **self.look,
        )


def cells_of_moves(
    rows: int, columns: int, steps: Sequence[tuple[int, int]], *, kinds: int = 1
) -> tuple[tuple[int, ...], ...]:
    """Return the cells from which and to which each action moves a piece, () outside of the grid.

    A step is a number of rows down and of columns to the right, and the action of a step from a
    cell is `(cell * len(steps) + step) * kinds + kind`.
    """

    def cells() -> Iterator[tuple[int, ...]]:
        for row in range(rows):
            for column in range(columns):
                for down, right in steps:
                    inside = 0 <= row + down < rows and 0 <= column + right < columns
                    begin = row * columns + column
                    yield (begin, begin + down * columns + right) if inside else ()

    return tuple(each for each in cells() for _ in range(kinds))
