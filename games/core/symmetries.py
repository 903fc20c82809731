"""Symmetries of games: rotations and reflections of the board with which the rules commute.

A symmetry moves the cells of the view and renames the actions. Playing the renamed actions from the
moved position gives the moved positions: the same player is to move, and the same player wins. So a
position and its images have the same value.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Triple = tuple[int, int, int]


class Symmetry(NamedTuple):
    """Two permutations: of the cells of the view, and of the actions."""

    cells: tuple[int, ...]  # cells[c]: the cell to which cell c of the view is moved
    actions: tuple[int, ...]  # actions[a]: the action that a becomes


def identity(cells: int, actions: int) -> Symmetry:
    """Return the symmetry that changes nothing, for that many cells and actions."""
    return Symmetry(tuple(range(cells)), tuple(range(actions)))


def of_grid(rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """Return the permutations of the cells, counted row by row, without repetitions."""
    grid = [divmod(cell, columns) for cell in range(rows * columns)]
    turns = (False, True) if rows == columns else (False,)
    found = (
        tuple(
            _cell(*((column, row) if turned else (row, column)), rows, columns, down, across)
            for row, column in grid
        )
        for turned in turns
        for down in (False, True)
        for across in (False, True)
    )
    return tuple(dict.fromkeys(found))


def _cell(row: int, column: int, rows: int, columns: int, down: bool, across: bool) -> int:
    """Return the cell of a place after the reflections of rows and of columns."""
    row = rows - 1 - row if down else row
    return row * columns + (columns - 1 - column if across else column)


def of_clicks(rows: int, columns: int, clicks: Sequence[tuple[int, ...]]) -> tuple[Symmetry, ...]:
    """Return the symmetries of a grid that map the cells of actions to those of actions.

    `clicks` has the cells for each action; the identity is the first symmetry. Of several actions
    with the same cells, such as captures and other moves, the first becomes the first, and so on.
    """
    places: dict[tuple[int, ...], list[int]] = {}
    rank = []  # of each action among those with the same cells
    for action, clicked in enumerate(clicks):
        alike = places.setdefault(clicked, [])
        rank.append(len(alike))
        alike.append(action)
    found = []
    for cells in of_grid(rows, columns):
        images = [tuple(cells[each] for each in clicked) for clicked in clicks]
        if all(
            len(places.get(image, ())) == len(places[clicked])
            for image, clicked in zip(images, clicks, strict=True)
        ):
            actions = tuple(places[image][n] for image, n in zip(images, rank, strict=True))
            found.append(Symmetry(cells, actions))
    return tuple(found)


def of_triples(
    triple_of: Mapping[int, Triple], drawn: Sequence[int], *, negated: bool
) -> tuple[Symmetry, ...]:
    """Return the symmetries of a board of hexagons whose actions are its cells, the identity first.

    They exchange the three coordinates of each cell, and negate them all if `negated`. `drawn` has
    for each action its cell in the view; actions without coordinates stay the same.
    """
    cell_of = {triple: cell for cell, triple in triple_of.items()}
    found = []
    for sign in (1, -1) if negated else (1,):
        for one, two, three in itertools.permutations(range(3)):
            actions, cells = list(range(len(drawn))), list(range(len(drawn)))
            for cell, at in triple_of.items():
                image = cell_of[sign * at[one], sign * at[two], sign * at[three]]
                actions[cell], cells[drawn[cell]] = image, drawn[image]
            found.append(Symmetry(tuple(cells), tuple(actions)))
    return tuple(dict.fromkeys(found))
