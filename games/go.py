"""Go; actions are numbered, and repeated positions end a match, as in OpenSpiel.

An action is a point, row by row from the bottom left, or the next number for a pass. With
`counting`, the number after that continues a match from the stage of counting, in which a point
marks its group as dead, and a pass accepts the marks.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Annotated, ClassVar, Literal

from playout.games import BoardView, GridGame, Kernels, Option, SpecError, State
from playout.games.goban.playouts import heavy, playout, prior
from playout.games.goban.position import (
    COUNTING_WORDS,
    MAX_SIDE,
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

#: Boards with handicap stones, and those with more than four, whose middle row is a line of points.
_LEAST_SIDE, _LEAST_FOR_NINE = 7, 9
#: From this size on, handicap stones are on the fourth line, otherwise on the third.
_FOURTH_LINE = 13
_MOST_CORNERS, MAX_HANDICAP = 4, 9


def most_handicap(size: int) -> int:
    """Return the maximum number of handicap stones on a board of that size, 0 for none."""
    if size < _LEAST_SIDE:
        return 0
    return MAX_HANDICAP if size % 2 and size >= _LEAST_FOR_NINE else _MOST_CORNERS


def handicap_points(size: int, stones: int) -> list[tuple[int, int]]:
    """Return the points of 2 stones to `most_handicap`, as the Go Text Protocol specifies them.

    A point is a column and a row, which count from 0 at the bottom left.
    """
    low = 3 if size >= _FOURTH_LINE else 2
    high, middle = size - 1 - low, size // 2
    points = [(low, low), (high, high), (low, high), (high, low)][:stones]
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    points += sides[: max(0, stones - _MOST_CORNERS - stones % 2)]
    return points + ([(middle, middle)] if stones > _MOST_CORNERS and stones % 2 else [])


#: For the number of each cell in a state: none, a stone of each player, one that is marked as dead.
_MARKED_PIECES = ((0, ""), (1, ""), (2, ""), (1, "dead stone"), (2, "dead stone"))


class Go(GridGame):
    """Surround more points than the opponent."""

    about = (
        "Players take turns to put a stone on an empty point, or pass. Stones of one colour that "
        "are connected along lines are a chain; a chain without an empty point next to it is "
        "captured and removed. A move that would leave its own chain without one is illegal. If "
        "one stone captures one stone, it may not be captured at once in return (ko). A "
        "position that was on the board before makes the match a tie, or with `superko` is "
        "illegal. The match ends after two passes in a row. Each player then has a point for each "
        "stone and each empty point that only stones of that colour reach. With "
        "`scoring=territory`, as in Japan, a player has a point for each such empty point, and one "
        "for each captured stone. White, the second player, has `komi` in addition; the player "
        "with more points wins. All stones count as alive, so capture dead ones before you pass. "
        "With `counting`, the players mark dead stones after two passes instead, which count as "
        "captured, until both accept the score; either may continue the match instead, once. With "
        "`handicap`, Black has that many stones on the board, and White moves first. "
        "After two plies for each point of the board it is scored in any case."
    )
    groups = ("classics", "territory")
    first_steps = (
        "Click a point to put a stone there; stones do not move. You win with more points, which "
        "are your stones and the points that only they surround. Begin near the corners, where "
        "points are easiest to surround. A chain around two separate empty points cannot be "
        "captured. Pass when neither player can gain anything. If dead stones are not marked "
        "afterwards, capture them before you pass."
    )
    variants: ClassVar = {
        "size=5": "The smallest board that is interesting, for first attempts.",
        "size=13": "Between the small board and the full one.",
        "size=19": "The full board.",
        "komi=6.5,scoring=territory,counting=true": "As in Japan: captured stones are points.",
        "komi=0.5,handicap=4": "A weaker player has Black, and four stones on the board.",
    }
    proposed: ClassVar = {"counting": True}

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
        handicap: Annotated[
            int, Option("stones of Black at the beginning; then White moves first", ge=0, le=9)
        ] = 0,
        scoring: Annotated[
            Literal["area", "territory"],
            Option("whether stones are points, as in China, or captured stones, as in Japan"),
        ] = "area",
        counting: Annotated[
            bool, Option("whether the players mark dead stones after two passes, and agree on them")
        ] = False,
    ) -> None:
        self.size = self.rows = self.columns = size
        cells = size * size
        self.komi = komi
        if 2 * komi != int(2 * komi):
            raise SpecError(f"go: komi must be a multiple of 0.5, not {komi}")
        if handicap > most_handicap(size):
            most = most_handicap(size)
            raise SpecError(f"go: handicap is at most {most} with size={size}, not {handicap}")
        self.counting, self.scoring = counting, scoring
        has_territory = scoring == "territory"
        stones = [0] * cells
        if handicap > 1:
            for column, row in handicap_points(size, handicap):
                stones[row * size + column] = 1
        first = (2 if handicap > 1 else 1, 0, 0, -1, -1, *stones)
        if has_territory:
            first = (*first, *[0] * (2 * cells + 3), sum(stones))
        if counting:
            self.pieces = _MARKED_PIECES
        super().__init__(
            header_of(
                size, int(2 * komi), superko=superko, counting=counting, territory=has_territory
            ),
            first,
            board=board_words(size),
            state=5 + 3 * cells + (COUNTING_WORDS if counting or has_territory else 0),
            actions=cells + 1 + int(counting),
            plies=4 * cells + 4 if counting else 2 * cells,
        )

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cell of its point; () for a pass, and to continue the match."""
        points = ((self._cell(action),) for action in range(self.size**2))
        return (*points, *[()] * (self.num_actions - self.size**2))

    @functools.cached_property
    def stone_cells(self) -> Mapping[int, int]:
        """The cells of the actions that put stones; () if some mark dead stones instead."""
        return {} if self.counting else super().stone_cells

    def cell_name(self, cell: int) -> str:
        return f"{LETTERS[cell % self.size]}{self.size - cell // self.size}"

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        return tuple(5 + self._cell(cell) for cell in range(self.size**2))

    def action_name(self, state: State, action: int) -> str:
        if self._stage(state) and action >= self.size**2:
            return "accept" if action == self.size**2 else "continue"
        return super().action_name(state, action)

    def view(self, state: State) -> BoardView:
        names = tuple(LETTERS[: self.size])
        areas = self._areas(state) if state[1] or self._stage(state) else ()
        return dataclasses.replace(super().view(state), column_names=names, areas=areas)

    def lead(self, state: State) -> float:
        black, white = self.points(state)
        return black - white

    def points(self, state: State) -> tuple[float, float]:
        """Return the points of both players, with komi, if the score is counted now."""
        owners, pieces = self._areas(state), self.numbers(state)
        found = [float(owners.count(1)), owners.count(2) + self.komi]
        for player in (0, 1):
            living = pieces.count(player + 1)
            if self.scoring == "area":
                found[player] += living
            else:  # the opponent has captured the stones that are not alive
                found[1 - player] += state[player - 2] - living
        return found[0], found[1]

    def is_counting(self, state: State) -> bool:
        """Return whether the players mark dead stones."""
        return self._stage(state) > 0 and not state[1]

    def _stage(self, state: State) -> int:
        """Return 0 in play; 1 while the score is counted, 2 if the opponent has accepted it."""
        return state[-COUNTING_WORDS] if self.counting else 0

    def _areas(self, state: State) -> tuple[int, ...]:
        """Return for each cell the player whose point it is without a living stone, 0 for none."""
        size, numbers = self.size, self.numbers(state)
        found = [0] * len(numbers)
        seen = set[int]()
        for start in range(len(numbers)):
            if numbers[start] in (1, 2) or start in seen:
                continue
            region, around = [start], set[int]()
            seen.add(start)
            for cell in region:
                row, column = divmod(cell, size)
                for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    near = cell + down * size + right
                    if not (0 <= row + down < size and 0 <= column + right < size):
                        continue
                    if numbers[near] in (1, 2):
                        around.add(numbers[near])
                    elif near not in seen:
                        seen.add(near)
                        region.append(near)
            if len(around) == 1:
                owner = around.pop()
                for cell in region:
                    found[cell] = owner
        return tuple(found)

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
        if self._stage(state):
            black, white = self.points(state)
            done = f", {('White', 'Black')[state[0] - 1]} has accepted" * (self._stage(state) == 2)
            return f"score: Black {black:g}, White {white:g}{done}"
        passed = state[3] == self.size**2
        return f"komi {self.komi:g}" + (f", {('White', 'Black')[state[0] - 1]} passed" * passed)
