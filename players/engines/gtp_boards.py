"""Moves as GTP writes them: vertices and `pass`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from games import Game, State
from games.core import spec
from players.engines.vertices import (
    FROM_TOP,
    GtpVertices,
    VertexError,
    action_at,
    cell_of,
    has_single_clicks,
)

PASS = "pass"


class GtpBoard(ABC):
    """The moves of one game in GTP."""

    #: Rows and columns.
    size: int
    #: The points that the second player has in addition; None if the game has none.
    komi: float | None = None

    @abstractmethod
    def name(self, state: State, action: int) -> str:
        """Return the name of a legal action."""

    @abstractmethod
    def action(self, state: State, name: str) -> int | None:
        """Return the legal action of that name, in upper or lower case; None if there is none."""


def board_of(game: Game, first_row: str = "") -> GtpBoard:
    """Return the board of a game, with its row 1 at the top or the bottom.

    By default it is where it is usual for the game. Raises ValueError for a game that GTP cannot
    express.
    """
    given = spec.parse(str(game))
    if given.name == "open_spiel" and given.options.get("game") == "go":
        return _OpenSpielGo(game)
    return _ClickedBoard(game, first_row or ("top" if given.name in FROM_TOP else "bottom"))


class _ClickedBoard(GtpBoard):
    """A square board of a game in which a move is a click on one cell, or a pass."""

    def __init__(self, game: Game, first_row: str) -> None:
        view = game.view(game.initial_state())
        if view.rows != view.columns or not view.rows or not has_single_clicks(view):
            raise ValueError(f"GTP needs a square board, and moves of one cell: not {game}")
        self._game = game
        self._vertices = GtpVertices(view.rows, view.columns, from_top=first_row == "top")
        self.size, self.komi = view.rows, game.komi

    def name(self, state: State, action: int) -> str:
        cell = cell_of(self._game.view(state), action)
        return PASS if cell is None else self._vertices.name(cell)

    def action(self, state: State, name: str) -> int | None:
        try:
            cell = None if name.lower() == PASS else self._vertices.cell(name)
        except VertexError:
            return None
        return action_at(self._game.view(state), cell)


class _OpenSpielGo(GtpBoard):
    """OpenSpiel's Go: row by row from the bottom left; the last action is a pass."""

    def __init__(self, game: Any) -> None:
        self._game = game
        parameters = game.peer.get_parameters()
        self.size, self.komi = parameters["board_size"], parameters["komi"]
        # A view has row 1 at the top: as if the board were turned over.
        self._vertices = GtpVertices(self.size, self.size, from_top=True)

    def name(self, state: State, action: int) -> str:
        return PASS if action == self.size**2 else self._vertices.name(action)

    def action(self, state: State, name: str) -> int | None:
        try:
            action = self.size**2 if name.lower() == PASS else self._vertices.cell(name)
        except VertexError:
            return None
        return action if action in self._game.legal_actions(state) else None
