"""What GTP can say of a game: the names of its moves, and its sizes."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import Any

from playout import games
from playout.games import Game, SpecError, State
from playout.games.core import spec
from playout.players.engines.gtp_text import GtpError
from playout.players.engines.vertices import (
    FROM_TOP,
    GtpVertices,
    VertexError,
    action_at,
    cell_of,
    has_single_clicks,
)

# Moves as GTP writes them: vertices and `pass`.


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


def require_vertices(game: Game) -> None:
    """Raise SpecError unless GTP can name the moves of a game."""
    view = game.view(game.initial_state())
    if not has_single_clicks(view):
        raise SpecError(f"{game} cannot be played with GTP: its moves are not single cells")
    try:
        vertices_of(game)
    except VertexError as error:
        raise SpecError(f"{game} cannot be played with GTP: {error}") from error


def resized(game: Game, sides: list[int]) -> Game:
    """Return a game on a board with these sides: one number, or columns and rows.

    Raises GtpError if the game has no such board.
    """
    view = game.view(game.initial_state())
    columns, rows = (sides * 2)[:2]
    if len(sides) > 2:
        raise GtpError("syntax error: expected boardsize SIZE or boardsize COLUMNS ROWS")
    if (columns, rows) == (view.columns, view.rows) or sides == [max(view.columns, view.rows)]:
        return game
    given = spec.parse(str(game))
    known = {each.name for each in games.describe(given.name).parameters}
    changed: dict[str, str] = {}
    if "size" in known and columns == rows:
        changed = {"size": str(rows)}
    elif {"m", "n"} <= known:
        changed = {"m": str(columns), "n": str(rows)}
    options = {**given.options, **changed}
    try:
        other = games.load(f"{given.name}({','.join(f'{k}={v}' for k, v in options.items())})")
        require_vertices(other)
    except SpecError as error:
        raise GtpError(f"unacceptable size: {error}") from error
    if not changed:
        raise GtpError(f"unacceptable size: {game} has {view.columns} columns, {view.rows} rows")
    return other


def with_komi(game: Game, komi: str) -> Game:
    """Return the game with another komi; the same game if it has none, or that one.

    Raises GtpError for a text that is no number, and for a komi that the game does not allow.
    """
    try:
        wanted = float(komi)
    except ValueError:
        raise GtpError(f"expected a number, not {komi!r}") from None
    if game.komi in (None, wanted):
        return game
    given = spec.parse(str(game))
    options = {**given.options, "komi": str(wanted)}
    try:
        return games.load(f"{given.name}({','.join(f'{k}={v}' for k, v in options.items())})")
    except SpecError as error:
        raise GtpError(f"unacceptable komi: {error}") from error


def vertex_of(game: Game, state: State, action: int) -> str:
    """Return an action as GTP writes it: a vertex, or pass."""
    cell = cell_of(game.view(state), action)
    return PASS if cell is None else vertices_of(game).name(cell)


@functools.cache
def vertices_of(game: Game) -> GtpVertices:
    """Return the names of the cells of a game. Raises VertexError if its board is too large."""
    view = game.view(game.initial_state())
    return GtpVertices(view.rows, view.columns, from_top=spec.parse(str(game)).name in FROM_TOP)
