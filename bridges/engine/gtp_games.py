"""What GTP can say of a game: the names of its moves, and its sizes."""

from __future__ import annotations

import functools

import games
from bridges.engine.gtp_text import GtpError
from games import Game, SpecError, State
from games.core import spec
from players.engines.vertices import (
    FROM_TOP,
    GtpVertices,
    VertexError,
    cell_of,
    has_single_clicks,
)

PASS = "pass"


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
