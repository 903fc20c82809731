"""Positions of chess in Forsyth-Edwards Notation, as chess programs write them.

Six fields: the rows from the top, the player to move, who may castle where, the square that a pawn
has just passed, the plies since the last capture or move of a pawn, and the number of the move. A
state has no number of the move, and `text_of` is told it.
"""

from __future__ import annotations

import re

from games.chessboard.layout import (
    CELLS,
    NOWHERE,
    QUIET_PLIES,
    SIDE,
    SQUARES,
    STATE_CASTLING,
    STATE_PASSED,
    STATE_QUIET,
    STATE_WORDS,
)
from games.core.game import State, square_name
from games.core.spec import SpecError

FIRST = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

#: The letters of pieces by their numbers in a state; upper case for White, player 1.
LETTERS = ".PpNnBbRrQqKk"
_PLAYERS = ".wb"
#: The rights to castle, in the order of their bits, with the cells of the king and the rook.
_RIGHTS = {"K": (60, 63), "Q": (60, 56), "k": (4, 7), "q": (4, 0)}
_CASTLING = re.compile(r"-|K?Q?k?q?")
_SQUARE = re.compile(r"[a-h][36]")


def square(cell: int) -> str:
    """Return the name of a cell: a8 is the top left one."""
    row, column = divmod(cell, SIDE)
    return square_name(SIDE - 1 - row, column)


def cell_of(name: str) -> int:
    """Return the cell with that name."""
    return (SIDE - int(name[1])) * SIDE + ord(name[0]) - ord("a")


def text_of(state: State, move: int = 1) -> str:
    """Return a position as text; `move` is the number of the move, which White makes first."""
    cells = "".join(LETTERS[piece] for piece in state[CELLS : CELLS + SQUARES])
    rows = [cells[begin : begin + SIDE] for begin in range(0, SQUARES, SIDE)]
    placed = "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)
    rights = "".join(each for bit, each in enumerate(_RIGHTS) if state[STATE_CASTLING] >> bit & 1)
    passed = "-" if state[STATE_PASSED] == NOWHERE else square(state[STATE_PASSED])
    player, quiet = _PLAYERS[state[0]], state[STATE_QUIET]
    return f"{placed} {player} {rights or '-'} {passed} {quiet} {move}"


def position(text: str) -> State:
    """Return a position without earlier ones; the last two fields may be left out.

    Raises SpecError for a text that is no position with one king of each player, of whom the one
    that has moved is not in check; whether the match is over there is for the rules.
    """
    fields = text.split()
    if not 4 <= len(fields) <= 6 or fields[1] not in ("w", "b"):
        raise _error(text, "write the rows, w or b, castling, en passant and two numbers")
    cells = _cells(text, fields[0])
    player = _PLAYERS.index(fields[1])
    numbers = [_number(text, each) for each in (*fields[4:], "0")]
    rights = _rights(text, fields[2], cells)
    passed = _passed(text, fields[3], cells, player)
    state = [player, 0, *cells, rights, passed, min(numbers[0], QUIET_PLIES)]
    return (*state, *[0] * (STATE_WORDS - len(state)))


def _cells(text: str, placed: str) -> list[int]:
    expanded = re.sub(r"[1-8]", lambda number: "." * int(number[0]), placed)
    rows = expanded.split("/")
    if [len(row) for row in rows] != [SIDE] * SIDE or set(expanded) - {*LETTERS, "/"}:
        raise _error(text, "eight rows of eight squares with / between them")
    cells = [LETTERS.index(letter) for row in rows for letter in row]
    if expanded.count("K") != 1 or expanded.count("k") != 1:
        raise _error(text, "each player has one king")
    if set("Pp") & {*rows[0], *rows[-1]}:
        raise _error(text, "pawns do not stand on the first and the last row")
    return cells


def _rights(text: str, given: str, cells: list[int]) -> int:
    if not given or not _CASTLING.fullmatch(given):
        raise _error(text, "castling is some of KQkq in this order, or -")
    rights = 0
    for bit, (letter, (king, rook)) in enumerate(_RIGHTS.items()):
        if letter in given:
            wanted = ("K", "R") if letter.isupper() else ("k", "r")
            if (LETTERS[cells[king]], LETTERS[cells[rook]]) != wanted:
                raise _error(text, f"for {letter}, king and rook stand on their first squares")
            rights |= 1 << bit
    return rights


def _passed(text: str, given: str, cells: list[int], player: int) -> int:
    """Return the cell that a pawn has passed, if a pawn stands where it could capture there."""
    if given == "-":
        return NOWHERE
    if not _SQUARE.fullmatch(given) or (given[1] == "6") != (player == 1):
        raise _error(text, "en passant is a square of the third or sixth row behind a pawn, or -")
    cell = cell_of(given)
    pawn = cell + (SIDE if player == 1 else -SIDE)
    if cells[cell] or LETTERS[cells[pawn]] != ".pP"[player]:
        raise _error(text, f"no pawn has just passed {given}")
    near = [pawn + side for side in (-1, 1) if (pawn + side) // SIDE == pawn // SIDE]
    return cell if any(LETTERS[cells[each]] == ".Pp"[player] for each in near) else NOWHERE


def _number(text: str, given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= 4):
        raise _error(text, f"{given} is not a number of plies or moves")
    return int(given)


def _error(text: str, expected: str) -> SpecError:
    return SpecError(f"chess: cannot read the position {text!r}: {expected}")
