"""Games in GTP: the names of their moves, and their variants by size and komi.

A move is a vertex or `pass`. A `GtpBoard` translates moves, for engines that play here and for our
own engine. Other programs may ask our engine for another size or komi.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from playout import games
from playout.games import BoardView, Game, SpecError, State
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

PASS = "pass"
#: The names of a swap in programs for Hex, and in those for games that only change its colour.
SWAP_PIECES, SWAP = "swap-pieces", "swap"


class GtpBoard(ABC):
    """The moves of one game in GTP."""

    vertices: GtpVertices
    #: The points that the second player has in addition; None if the game has none.
    komi: float | None = None
    #: The name of the move that is no cell, and all names of it that are understood.
    other_move = PASS
    other_names: tuple[str, ...] = (PASS,)

    def name(self, state: State, action: int) -> str:
        """Return the name of a legal action."""
        cell = self._cell_of(state, action)
        return self.other_move if cell is None else self.vertices.name(cell)

    def cell(self, name: str) -> int | None:
        """Return the cell of a name, None for a pass or a swap; case does not matter.

        Raises VertexError.
        """
        return None if name.lower() in self.other_names else self.vertices.cell(name)

    def action(self, state: State, name: str) -> int | None:
        """Return the legal action of a name, None if there is none; case does not matter."""
        try:
            return self.action_at(state, self.cell(name))
        except VertexError:
            return None

    @abstractmethod
    def action_at(self, state: State, cell: int | None) -> int | None:
        """Return the legal action on a cell, or the one without a cell; None if illegal."""

    @abstractmethod
    def _cell_of(self, state: State, action: int) -> int | None:
        """Return the cell of a legal action; None for a pass or a swap."""


class ClickedBoard(GtpBoard):
    """The board of a game in which a move is a click on one cell, or a pass."""

    def __init__(
        self,
        game: Game,
        first_row: str = "",
        column_i: bool | None = None,
        other: tuple[str, ...] = (),
    ) -> None:
        """`first_row` is where row 1 is: top or bottom. `column_i`: whether there is a column I.

        "" and None select the usual values of the game: on hexagons, the names of cells are those
        of Playout, with a column I, as in HexGui and MoHex. `other` are names of a move without a
        cell in addition to those of the game; the first one is written. Raises SpecError for a game
        that GTP cannot express.
        """
        view = game.view(game.initial_state())
        if not view.rows or not has_single_clicks(view):
            raise SpecError(f"{game} cannot be played with GTP: its moves are not single cells")
        is_hex = view.geometry == "hex"
        is_usual_top = spec.parse(str(game)).name in FROM_TOP
        if is_hex:  # as the cells are named here: turned over, the board would be another one
            is_usual_top = not getattr(game, "upward", False)
        has_i = is_hex if column_i is None else column_i
        is_top = first_row == "top" if first_row else is_usual_top
        if spec.parse(str(game)).options.get("swap") == "true":
            has_own_action = getattr(game, "pass_name", "") == "swap"
            self.other_move = SWAP_PIECES if has_own_action else SWAP
            self.other_names = (SWAP_PIECES, SWAP)
        self._takes_over = self.other_move == SWAP
        if other:
            self.other_move, self.other_names = other[0], (*other, *self.other_names)
        try:
            self.vertices = GtpVertices(view.rows, view.columns, is_top, has_i)
        except VertexError as error:
            raise SpecError(f"{game} cannot be played with GTP: {error}") from error
        self.komi = game.komi
        self._game = game

    def action_at(self, state: State, cell: int | None) -> int | None:
        view = self._game.view(state)
        if cell is None and self._takes_over:  # a click on the stone that is taken over
            return next((each for each in view.clicks if self._is_swap(view, each)), None)
        return action_at(view, cell)

    def _cell_of(self, state: State, action: int) -> int | None:
        view = self._game.view(state)
        return None if self._takes_over and self._is_swap(view, action) else cell_of(view, action)

    @staticmethod
    def _is_swap(view: BoardView, action: int) -> bool:
        return any(view.cells[cell] for cell in view.clicks[action])


class _OpenSpielGo(GtpBoard):
    """OpenSpiel's Go: row by row from the bottom left; the last action is a pass."""

    def __init__(self, game: Any) -> None:
        self._game = game
        parameters = game.peer.get_parameters()
        size, self.komi = parameters["board_size"], parameters["komi"]
        # A view has row 1 at the top: as if the board were turned over.
        self.vertices = GtpVertices(size, size, from_top=True)
        self._pass = size**2

    def action_at(self, state: State, cell: int | None) -> int | None:
        action = self._pass if cell is None else cell
        return action if action in self._game.legal_actions(state) else None

    def _cell_of(self, state: State, action: int) -> int | None:
        return None if action == self._pass else action


def board_of(game: Game, first_row: str = "", column_i: bool | None = None) -> GtpBoard:
    """Return the board of a game that engines play, with its coordinates as in `ClickedBoard`.

    Raises SpecError for a game that GTP cannot express, or that is not on a square board.
    """
    given = spec.parse(str(game))
    if given.name == "open_spiel" and given.options.get("game") == "go":
        return _OpenSpielGo(game)
    board = ClickedBoard(game, first_row, column_i)
    if board.vertices.rows != board.vertices.columns:
        raise SpecError(f"{game} cannot be played with GTP engines: its board is not square")
    return board


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
    known = {each.name for each in games.describe(spec.parse(str(game)).name).parameters}
    changes: dict[str, object] = {}
    if "size" in known and columns == rows:
        changes = {"size": rows}
    elif {"m", "n"} <= known:
        changes = {"m": columns, "n": rows}
    try:
        other = _changed(game, **changes)
        ClickedBoard(other)
    except SpecError as error:
        raise GtpError(f"unacceptable size: {error}") from error
    if not changes:
        raise GtpError(f"unacceptable size: {game} has {view.columns} columns, {view.rows} rows")
    return other


def with_komi(game: Game, komi: str) -> Game:
    """Return the game with another komi; the same game if it has no komi, or already this one.

    Raises GtpError for a text that is no number, and for a komi that the game does not allow.
    """
    try:
        wanted = float(komi)
    except ValueError:
        raise GtpError(f"expected a number, not {komi!r}") from None
    if game.komi in (None, wanted):
        return game
    try:
        return _changed(game, komi=wanted)
    except SpecError as error:
        raise GtpError(f"unacceptable komi: {error}") from error


def _changed(game: Game, **changes: object) -> Game:
    """Return the game with other values of some parameters. Raises SpecError."""
    given = spec.parse(str(game))
    options = {key: str(value) for key, value in changes.items()}
    return games.load(str(spec.Spec(given.name, {**given.options, **options})))
