"""Go in GTP: handicap stones, moves of one colour in a row, and files of games (SGF)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from playout.games import Game, State
from playout.games.go import Go, handicap_points, most_handicap
from playout.players.engines.gtp_text import GtpError, whole_number
from playout.players.engines.local_match import LocalMatch
from playout.players.engines.vertices import GtpVertices, VertexError
from playout.protocol.sgf import (
    SgfError,
    SgfProperty,
    column_and_row,
    decoded,
    items,
    komi_of,
)

#: Boards up to this size have `tt` for a pass in old files.
_OLD_SIDE = 19
#: Longer files are cut, so that they do not fill the memory.
_MOST_BYTES = 1 << 22
#: The colours of the properties of SGF for stones and moves.
_SETUP, _MOVES = {"AB": "black", "AW": "white"}, {"B": "black", "W": "white"}
#: The state of Go: the place of the last move, and of the point that ko forbids; -1 for none.
_LAST, _KO = 3, 4


def turned(game: Game, state: State, seat: int) -> State | None:
    """Return a position of Go in which that seat is to move, None for other games.

    GTP lets a colour move twice. What depends on the last move, a ko and a pass, is forgotten.
    """
    if game.current_player(state) == seat:
        return state
    if not isinstance(game, Go) or game.winner(state):
        return None
    changed = [seat, *state[1:]]
    changed[_LAST] = changed[_KO] = -1
    return tuple(changed)


def fixed_handicap(match: LocalMatch, stones: str) -> list[str]:
    """Return the vertices of a number of handicap stones. Raises GtpError."""
    size = _empty_board(match)
    if not (most := most_handicap(size)):
        raise GtpError(f"invalid number of stones: there is no handicap on a board of {size}")
    return _handicap(size, whole_number(stones, 2, most))


def free_handicap(match: LocalMatch, stones: str) -> list[str]:
    """Return the vertices of up to that many stones: those that have fixed places.

    The command allows the engine to put fewer. Raises GtpError.
    """
    size = _empty_board(match)
    number = whole_number(stones, 2, size * size - 1)
    return fixed_handicap(match, str(min(number, max(2, most_handicap(size)))))


def chosen_handicap(match: LocalMatch, vertices: Sequence[str]) -> Sequence[str]:
    """Return the vertices if handicap stones can be put there. Raises GtpError."""
    size = _empty_board(match)
    try:
        cells = {GtpVertices(size, size).cell(each) for each in vertices}
    except VertexError as error:
        raise GtpError(f"bad vertex list: {error}") from error
    if not 2 <= len(vertices) == len(cells) < size * size:
        raise GtpError("bad vertex list: expected two or more different vertices")
    return vertices


def _empty_board(match: LocalMatch) -> int:
    """Return the size of a board of Go without stones. Raises GtpError."""
    if not isinstance(match.game, Go):
        raise GtpError(f"{match.game} has no handicap stones")
    if any(match.game.cells(match.state)):
        raise GtpError("board not empty")
    return match.game.size


def _handicap(size: int, stones: int) -> list[str]:
    """Return the vertices of 2 stones to `most_handicap`, as GTP specifies them."""
    vertices, points = GtpVertices(size, size), handicap_points(size, stones)
    return [vertices.name((size - 1 - row) * size + column) for column, row in points]


class SgfGame(NamedTuple):
    """A game of a file: columns and rows, komi as text, "" if none is given, and the stones.

    The sides are those of `boardsize`. A stone is a colour and a cell of the view, None for a pass.
    """

    sides: tuple[str, ...]
    komi: str
    stones: list[tuple[str, int | None]]


def load_game(file: str, before: Sequence[str], game: Game) -> SgfGame:
    """Return the first variation of a file, up to a move if `before` has its number, from 1.

    Raises GtpError if the file cannot be read, if it removes stones or has none, and if it is of
    another game than `game`.
    """
    if len(before) > 1:
        raise GtpError("syntax error: expected loadsgf FILE or loadsgf FILE MOVE_NUMBER")
    end = whole_number(before[0], 1, _MOST_BYTES) if before else _MOST_BYTES
    try:
        with open(file, "rb") as opened:
            text = decoded(opened.read(_MOST_BYTES))
        return _game_of(_first_variation(text), end, game)
    except OSError as error:
        raise GtpError(f"cannot load the file: {error.strerror}") from error
    except ValueError as error:  # of what is in the file
        raise GtpError(f"cannot load the file: {error}") from error


def _game_of(found: Sequence[SgfProperty], before: int, game: Game) -> SgfGame:
    if not found:
        raise GtpError("it has no game")
    given = {each.name: each.values[0].strip() for each in reversed(found)}
    number = given.get("GM", "")
    if game.sgf_number is not None and number.isdecimal() and int(number) != game.sgf_number:
        raise GtpError(f"its game is number {number} (GM), and {game} is {game.sgf_number}")
    columns, rows = _sides(given.get("SZ") or str(_OLD_SIDE))
    stones: list[tuple[str, int | None]] = []
    moves = 0
    for item in found:
        moves += item.name in _MOVES
        if moves >= before:
            break
        if item.name == "AE":
            raise GtpError(f"line {item.line}: AE removes stones")
        colour = _SETUP.get(item.name) or _MOVES.get(item.name, "")
        for value in item.values if colour else ():
            stones += [(colour, cell) for cell in _cells(value.strip(), item, columns, rows)]
    if not (moves or stones or "SZ" in given):
        raise GtpError(f"it has neither moves nor a size, only {', '.join(given)[:60]}")
    sides = (str(columns),) if columns == rows else (str(columns), str(rows))
    komi = komi_of(given.get("KM", ""))
    return SgfGame(sides, "" if komi is None else f"{komi:g}", stones)


def _sides(text: str) -> tuple[int, int]:
    """Return columns and rows of `19` or `19:13`."""
    numbers = [whole_number(each.strip(), 1, 52) for each in text.split(":")]
    if len(numbers) > 2:
        raise GtpError(f"{text[:20]!r} is no size of a board")
    return numbers[0], numbers[-1]


def _cells(text: str, item: SgfProperty, columns: int, rows: int) -> Iterator[int | None]:
    """Yield the cells of a value: of a point, or of a rectangle as `aa:cc`; None for a pass."""
    if item.name in _MOVES and (not text or (text == "tt" and max(columns, rows) <= _OLD_SIDE)):
        yield None
        return
    corners = [column_and_row(each) for each in text.split(":")]
    first, last = corners[0], corners[-1]
    if first is None or last is None or last[0] >= columns or last[1] >= rows:
        raise GtpError(f"line {item.line}: {text[:20]!r} is no point")
    for row in range(first[1], last[1] + 1):
        for column in range(first[0], last[0] + 1):
            yield row * columns + column


def _first_variation(text: str) -> list[SgfProperty]:
    """Return the properties of the first variation. Raises GtpError."""
    found: list[SgfProperty] = []
    try:
        for item in items(text):
            if item == ")":
                break
            if isinstance(item, SgfProperty):
                found.append(item)
    except SgfError as error:
        raise GtpError(f"line {error.line}: {error}") from error
    return found
