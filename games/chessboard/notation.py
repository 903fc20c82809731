"""Names of moves of chess: Standard Algebraic Notation, and the squares that UCI writes.

`Nf3`, `exd5`, `O-O`, `e8=Q+` and `Rxa8#` are in the former, `g1f3` and `e7e8q` in the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numba import types

from playout.games.chessboard.position import (
    CASTLE_LEFT,
    CASTLE_RIGHT,
    CELLS,
    KINGS,
    LEADS,
    NOWHERE,
    OWN,
    PLANES,
    QUIET_PLIES,
    SIDE,
    SQUARES,
    STATE_CASTLING,
    STATE_PASSED,
    STATE_QUIET,
    STATE_WORDS,
    UNDERPROMOTIONS,
    danger,
    source_of,
)
from playout.games.core.game import KernelGame, State, square_name
from playout.games.core.kernels import Board, compiled, uncompiled
from playout.games.core.spec import SpecError

# Positions of chess in Forsyth-Edwards Notation, as chess programs write them.
#
# Six fields: the rows from the top, the player to move, the rights to castle, the square that a
# pawn has just passed, the plies since the last capture or move of a pawn, and the number of the
# move. A state does not have the last one; it is an argument of `text_of`.


FIRST = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

#: The letters of pieces by their numbers in a state; upper case for White, player 1.
LETTERS = ".PpNnBbRrQqKk"
_PLAYERS = ".wb"
#: The rights to castle, in the order of their bits, with the cells of the king and the rook.
_RIGHTS = {"K": (60, 63), "Q": (60, 56), "k": (4, 7), "q": (4, 0)}
_CASTLING_RIGHTS = re.compile(r"-|K?Q?k?q?")
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


def number_of(text: str) -> int:
    """Return the number of the move in a position as text, 1 if it has none."""
    fields = text.split()
    number = int(fields[5]) if len(fields) > 5 and fields[5].isdecimal() else 1
    return max(1, number)


def position(text: str) -> State:
    """Return a position without earlier ones; the last two fields may be left out.

    Raises SpecError for a text that is not a position with one king of each player. It accepts
    positions in which the player who has moved is in check, and finished ones.
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
    if not given or not _CASTLING_RIGHTS.fullmatch(given):
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


_CASTLING = {CASTLE_LEFT: "O-O-O", CASTLE_RIGHT: "O-O"}
#: The squares of the king, and how far it goes.
_KING, _CASTLES = 4, {CASTLE_LEFT: -2, CASTLE_RIGHT: 2}
_source_of = uncompiled(source_of)


@compiled(types.boolean(types.int64[::1]), allocates=False)
def in_check(board: Board) -> bool:
    """Return whether the player to move is in check."""
    king = np.uint64(board[OWN]) & np.uint64(board[KINGS])
    return king & danger(board).attacked != np.uint64(0)


def cells_of(action: int, player: int) -> tuple[int, ...]:
    """Return the cells between which an action moves a piece, () if it leads off the board."""
    if action in _CASTLING:
        source, target = _KING, _KING + _CASTLES[action]
    else:
        source = int(_source_of(action))
        target = source + int(LEADS[action % PLANES])
    mirror = SQUARES - SIDE if player == 1 else 0
    return (source ^ mirror, target ^ mirror) if 0 <= target < SQUARES else ()


def uci_name(state: State, action: int) -> str:
    """Return the squares of a move and the letter of a promotion, "" off the board."""
    cells = cells_of(action, state[0])
    return "".join(map(square, cells)) + promotion(state, action).lower() if cells else ""


def promotion(state: State, action: int) -> str:
    """Return the letter of the piece to which a pawn promotes, "" for other moves."""
    if action in _CASTLING:
        return ""
    if action % PLANES < UNDERPROMOTIONS:
        return "RBN"[action % PLANES // 3]
    source, target = cells_of(action, state[0])
    is_pawn = LETTERS[state[CELLS + source]] in "Pp"
    return "Q" if is_pawn and target // SIDE in (0, SIDE - 1) else ""


def names(game: KernelGame, state: State) -> Mapping[int, str]:
    """Return the name of each legal action in Standard Algebraic Notation."""
    actions = game.legal_actions(state)
    board = game.board(state)
    after = np.empty_like(board)
    moved = {action: _moved(state, action) for action in actions}
    found = {}
    for action in actions:
        after[:] = board
        game.kernels.play(after, action)
        sign = "#" if after[1] > 0 else "+" if in_check(after) else ""
        found[action] = _name(state, action, moved) + sign
    return found


#: The letter of a piece, and the cells from which and to which it moves.
_Moved = tuple[str, int, int]


#: A move in the ways that programs and people write it: piece, origin, target and promotion. The
#: row of the target may be missing in a capture of a pawn, as in `exd`.
_LAX = re.compile(
    r"(?P<piece>[PNBRQK])?(?P<file>[a-h])?(?P<row>[1-8])?[-x:\u00d7\u2013]?"
    r"(?P<to>[a-h][1-8]|[a-h](?![1-8]))(?:[=/(]?(?P<promotion>[QRBNqrbn])\)?)?"
)
_WHITE, _BLACK = "\u2654\u2655\u2656\u2657\u2658", "\u265a\u265b\u265c\u265d\u265e"
_FIGURES = str.maketrans(_WHITE + _BLACK, 2 * "KQRBN")
_PAWNS = str.maketrans("", "", "\u2659\u265f")
#: Marks that may follow a move: of checks, of a capture en passant and of comments.
_MARKS = re.compile(r"\s*(?:[+#!?=~]|e\.?p\.?|ch|dis|dbl|mate)+$")


def lax_action(state: State, legal: Iterable[int], text: str) -> int | None:
    """Return the only legal action that fits a text in a notation other than SAN, or None.

    `Ng1f3`, `Bf1-b5`, `e2-e4`, `e4:d5`, `exd`, `exd6 e.p.`, `bxa8Q`, `Nbd2` where `Nd2` is enough.
    Castling may be written as the move of the king with both squares, such as `Ke1-g1`.
    """
    written = _MARKS.sub("", text.translate(_FIGURES).translate(_PAWNS).strip())
    found = _LAX.fullmatch(written)
    if found is None:
        return None
    target, source_file, row = found["to"], found["file"] or "", found["row"] or ""
    piece = found["piece"] or ("" if source_file and row else "P")
    wanted = (found["promotion"] or "").upper()
    fitting = []
    for action in legal:
        if action in _CASTLING and not (source_file and row):
            continue
        letter, source, cell = _moved(state, action)
        name, to = square(source), square(cell)
        if (
            piece in ("", letter)
            and to.startswith(target)
            and (len(target) == 2 or source_file)
            and name[0] == (source_file or name[0])
            and name[1] == (row or name[1])
            and promotion(state, action) == wanted
        ):
            fitting.append(action)
    return fitting[0] if len(fitting) == 1 else None


def _moved(state: State, action: int) -> _Moved:
    source, target = cells_of(action, state[0])
    return LETTERS[state[CELLS + source]].upper(), source, target


def _name(state: State, action: int, moved: Mapping[int, _Moved]) -> str:
    """Return the name of an action without its sign for check."""
    if action in _CASTLING:
        return _CASTLING[action]
    letter, source, target = moved[action]
    is_pawn = letter == "P"
    takes = state[CELLS + target] or (is_pawn and (source - target) % SIDE)
    from_ = (square(source)[0] if takes else "") if is_pawn else letter + _origin(action, moved)
    to = promotion(state, action)
    return f"{from_}{'x' if takes else ''}{square(target)}{'=' if to else ''}{to}"


def _origin(action: int, moved: Mapping[int, _Moved]) -> str:
    """Return the file, the row or both of a piece, if others of its kind reach the same square."""
    letter, source, target = moved[action]
    others = [each[1] for each in moved.values() if each[::2] == (letter, target)]
    others.remove(source)
    if not others:
        return ""
    if all(each % SIDE != source % SIDE for each in others):
        return square(source)[0]
    if all(each // SIDE != source // SIDE for each in others):
        return square(source)[1]
    return square(source)
