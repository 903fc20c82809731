"""Names of moves of chess: Standard Algebraic Notation, and the squares that UCI writes.

`Nf3`, `exd5`, `O-O`, `e8=Q+` and `Rxa8#` are in the former, `g1f3` and `e7e8q` in the latter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import types

from games.chessboard.fen import LETTERS, square
from games.chessboard.layout import (
    CASTLE_LEFT,
    CASTLE_RIGHT,
    CELLS,
    KINGS,
    LEADS,
    OWN,
    PLANES,
    SIDE,
    SQUARES,
    UNDERPROMOTIONS,
    source_of,
)
from games.chessboard.moves import danger
from games.core.game import KernelGame, State
from games.core.kernels import Board, compiled, uncompiled

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
