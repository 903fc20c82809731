"""Go with area scoring; actions are numbered, and repeated positions end a match, as in OpenSpiel.

An action is a point, row by row from the bottom left, or the last number for a pass.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection
from typing import Annotated, ClassVar

from playout.games import BoardView, GridGame, Kernels, Option, SpecError, State
from playout.games.goban.playouts import heavy, playout, prior
from playout.games.goban.position import (
    MAX_SIDE,
    area_lead,
    board_words,
    header_of,
    legal,
    play,
    read,
    write,
)

#: The letters of columns: Go players leave out I.
LETTERS = "ABCDEFGHJKLMNOPQRST"

#: Maximum komi: a higher one would decide every match.
MAX_KOMI = MAX_SIDE**2


class Go(GridGame):
    """Surround more points than the opponent: Go with area scoring (Tromp-Taylor)."""

    about = (
        "Players take turns to put a stone on an empty point, or pass. Stones of one colour that "
        "are connected along lines are a chain; a chain without an empty point next to it is "
        "captured and removed. A move that would leave its own chain without one is illegal. If "
        "one stone captures one stone, it may not be captured at once in return (ko). A "
        "position that was on the board before makes the match a tie, or with `superko` is "
        "illegal. After two passes in a row each player has a point for each stone and each empty "
        "point that only stones of that colour reach, and White, the second player, has `komi` in "
        "addition; the player with more points wins. So capture dead stones before you pass, or "
        "agree with a person on the score. "
        "After two plies for each point of the board it is scored in any case."
    )
    first_steps = (
        "Click a point to put a stone there; stones do not move. You win with more points, which "
        "are your stones and the points that only they surround. Begin near the corners, where "
        "points are easiest to surround. A chain around two separate empty points cannot be "
        "captured. Pass when neither player can gain anything, and not before you have captured "
        "the dead stones of the opponent."
    )
    variants: ClassVar = {
        "size=5": "The smallest board that is interesting, for first attempts.",
        "size=13": "Between the small board and the full one.",
        "size=19": "The full board.",
    }

    look: ClassVar = {"piece": "stone", "surface": "wood"}
    upward = True
    pass_name = "pass"
    puts_stones = True
    sgf_number = 1

    kernels = Kernels(legal, play, playout, write, read, heavy=heavy, prior=prior)
    komi: float

    def __init__(
        self,
        size: Annotated[int, Option("rows and columns", ge=2, le=MAX_SIDE)] = 9,
        komi: Annotated[
            float,
            Option(
                "points for White, who moves second: a multiple of 0.5", ge=-MAX_KOMI, le=MAX_KOMI
            ),
        ] = 7.5,
        superko: Annotated[
            bool, Option("whether a move that repeats a position is illegal, instead of a tie")
        ] = False,
    ) -> None:
        self.size = self.rows = self.columns = size
        cells = size * size
        self.komi = komi
        if 2 * komi != int(2 * komi):
            raise SpecError(f"go: komi must be a multiple of 0.5, not {komi}")
        super().__init__(
            header_of(size, int(2 * komi), superko),
            (1, 0, 0, -1, -1),
            board=board_words(size),
            state=5 + 3 * cells,
            actions=cells + 1,
            plies=2 * cells,
        )

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cell of its point; () for a pass."""
        return (*((self._cell(action),) for action in range(self.size**2)), ())

    def cell_name(self, cell: int) -> str:
        return f"{LETTERS[cell % self.size]}{self.size - cell // self.size}"

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        return tuple(5 + self._cell(cell) for cell in range(self.size**2))

    def view(self, state: State) -> BoardView:
        names = tuple(LETTERS[: self.size])
        return dataclasses.replace(super().view(state), column_names=names)

    def lead(self, state: State) -> float:
        return float(area_lead(self.board(state))) - self.komi

    def lead_without(self, state: State, dead: Collection[int]) -> float:
        cells = self.cells(state)
        for cell in dead:
            if cell >= len(cells) or not cells[cell]:
                raise ValueError(f"cell {cell} has no stone")
        points = set(map(self._cell, dead))
        left = [0 if point in points else state[5 + point] for point in range(len(cells))]
        return self.lead((*state[:5], *left, *state[5 + len(left) :]))

    def _cell(self, action: int) -> int:
        """Return the cell of the view for an action, and the action for a cell."""
        row, column = divmod(action, self.size)
        return (self.size - 1 - row) * self.size + column

    def note(self, state: State) -> str:
        if state[1] < 0:
            return "a position was repeated" if self.lead(state) else "both have the same points"
        if state[1]:
            return f"{('Black', 'White')[state[1] - 1]} wins by {abs(self.lead(state)):g}"
        passed = state[3] == self.size**2
        return f"komi {self.komi:g}" + (f", {('White', 'Black')[state[0] - 1]} passed" * passed)
