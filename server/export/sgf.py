"""SGF, version FF[4] (https://www.red-bean.com/sgf/), for games of placing stones.

That is a matter of what is on the board, not of the game's name: it is one undivided grid, and each
move of the match puts a stone of the player on an empty point, or is a pass. What else changes,
captured or turned, is for the rules. Black is who has the first seat.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from itertools import pairwise

from games import TIE, BoardView
from games.core import spec
from server.export.replay import Replay, replay
from server.export.text import filled, plain, shown_s, utc
from server.model.messages import Reason, TimeControl
from server.model.records import MatchEnded, MovePlayed, StoredMatch
from server.model.time_control import decimal

_LETTERS = string.ascii_letters  # a is the first column or row, A the 27th
_COLOURS = {1: "B", 2: "W"}

#: SGF's numbers for games; 4 is gomoku and its kin. Without one, readers think of go.
_NUMBERS = {"othello": 2, "gomoku": 4, "mnk": 4, "tic_tac_toe": 4}

_HOW = {
    Reason.RESIGNATION: "R",
    Reason.TIME: "T",
    Reason.ABANDONMENT: "F",
    Reason.ILLEGAL_MOVES: "F",
}


class Unsuitable(ValueError):
    """A match that is not one of placing stones, and says why."""


def write(kept: StoredMatch) -> str:
    """A match as a game tree of its own. Raises Unsuitable, or Contradiction."""
    replayed = replay(kept)
    views = [replayed.game.view(state) for state in replayed.states]
    _require_board(views[0], replayed)
    root = "".join(f"{name}[{value}]" for name, value in _root(kept, replayed, views[0]))
    nodes = [
        _node(move, _point(*before_and_after, move), replayed.time_control)
        for move, before_and_after in zip(kept.moves, pairwise(views), strict=True)
    ]
    return f"(;{root}\n{filled([*nodes, ')'])}\n"


def _require_board(view: BoardView, replayed: Replay) -> None:
    """One undivided grid that SGF's letters can name, and nothing to do but to place a stone."""
    if view.geometry != "grid" or view.block:
        raise Unsuitable(f"{replayed.game} is not played on one grid")
    if max(view.rows, view.columns) > len(_LETTERS):
        raise Unsuitable(f"the board is larger than {len(_LETTERS)} by {len(_LETTERS)}")
    for action in replayed.game.legal_actions(replayed.states[0]):
        _target(view, action)


def _target(view: BoardView, action: int) -> int | None:
    """The empty cell that an action puts a stone on, None for a pass. Raises Unsuitable."""
    clicks = view.clicks.get(action)
    if clicks == ():
        return None
    if clicks is None or len(clicks) != 1 or view.cells[clicks[0]]:
        raise Unsuitable(f"action {action} does not put a stone on an empty point")
    return clicks[0]


def _point(before: BoardView, after: BoardView, move: MovePlayed) -> str:
    """Where a move puts its stone, as SGF writes it; empty for a pass."""
    cell = _target(before, move.action)
    if cell is None:
        return ""
    if after.cells[cell] != move.seat:
        raise Unsuitable(f"move {move.ply} does not leave a stone of its player on its point")
    return _letters(cell, before)


def _letters(cell: int, view: BoardView) -> str:
    row, column = divmod(cell, view.columns)
    return _LETTERS[column] + _LETTERS[row]


def _root(kept: StoredMatch, replayed: Replay, view: BoardView) -> Iterator[tuple[str, str]]:
    """The properties of the match, in their order."""
    begun, name = kept.started, spec.parse(kept.started.game).name
    yield "FF", "4"
    yield "CA", "UTF-8"
    if name in _NUMBERS:
        yield "GM", str(_NUMBERS[name])
    yield "SZ", str(view.rows) if view.rows == view.columns else f"{view.columns}:{view.rows}"
    yield "RU", _escaped(begun.game)
    yield "GN", _escaped(begun.match)
    yield "DT", utc(begun.at).date().isoformat()
    yield "PB", _escaped(begun.players[0])
    yield "PW", _escaped(begun.players[1])
    yield from _time(replayed.time_control)
    yield "RE", _result(kept.ended)
    if kept.ended:
        yield "GC", _escaped(kept.ended.text)
    for seat, property_ in ((1, "AB"), (2, "AW")):
        stones = [_letters(cell, view) for cell, owner in enumerate(view.cells) if owner == seat]
        if stones:
            yield property_, "][".join(stones)


def _time(control: TimeControl | None) -> Iterator[tuple[str, str]]:
    if control is None:
        return
    yield "TM", decimal(control.main_s)
    if control.periods:
        yield "OT", f"{control.periods}x{decimal(control.period_s)} byo-yomi"
    elif control.increment_s:
        yield "OT", f"{decimal(control.increment_s)} fischer"


def _result(finished: MatchEnded | None) -> str:
    if finished is None:
        return "?"
    if finished.winner == TIE:
        return "0"
    if finished.winner == 0:
        return "Void"
    return f"{_COLOURS[finished.winner]}+{_HOW.get(finished.reason, '')}"


def _node(move: MovePlayed, point: str, control: TimeControl | None) -> str:
    colour = _COLOURS[move.seat]
    node = f";{colour}[{point}]"
    if control and move.clocks:
        left = move.clocks[move.seat - 1]
        node += f"{colour}L[{decimal(shown_s(control, left))}]"
        if left.periods and not left.main_s:  # as Go servers do: the periods left, once they count
            node += f"O{colour}[{left.periods}]"
    return node


def _escaped(text: str) -> str:
    """SimpleText; a colon, too, which some readers take for a separator."""
    return "".join("\\" + letter if letter in "\\]:" else letter for letter in plain(text))
