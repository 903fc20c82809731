"""Openings of pairs: the moves with which both matches of a pair begin."""

from __future__ import annotations

from playout.games import BoardView

Opening = tuple[int, ...]


class OpeningError(ValueError):
    """No usable opening exists; the message has the game and the reason."""


def central_cells(view: BoardView, near: int) -> set[int]:
    """Return the cells at most `near` rows and columns from the centre of a board."""
    return {
        cell
        for cell in range(len(view.cells))
        if abs(2 * (cell // view.columns) - view.rows + 1) <= 2 * near
        and abs(2 * (cell % view.columns) - view.columns + 1) <= 2 * near
    }
