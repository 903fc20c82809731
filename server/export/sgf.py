"""SGF, version FF[4] (https://www.red-bean.com/sgf/), for games of placing stones and backgammon.

Whether a game can be written depends on its board, not on its name: the board is one undivided
grid, and each move puts a stone of the player on an empty point, or is a pass. Other changes,
such as captured stones, follow from the rules. Black is the player in the first seat.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from playout.commands.text import filled, plain, utc
from playout.games import TIE, BoardView, Game, Position
from playout.protocol.messages import Reason, TimeControl
from playout.protocol.sgf import COLOURS, LETTERS, escaped
from playout.protocol.time_control import decimal, shown_s, spell_time_controls
from playout.server.export import backgammon
from playout.server.export.replay import Replay, replay
from playout.server.model.records import MatchEnded, MatchStarted, MovePlayed, StoredMatch

_HOW = {
    Reason.RESIGNATION: "R",
    Reason.TIME: "T",
    Reason.ABANDONMENT: "F",
    Reason.ILLEGAL_MOVES: "F",
    Reason.CRASH: "F",
}


class Unsuitable(ValueError):
    """A match of a game that SGF cannot describe; the text gives the reason."""


def write(stored: StoredMatch) -> str:
    """The match as a game tree. Raises Unsuitable or Contradiction."""
    replayed = replay(stored)
    if backgammon.suits(replayed.game):
        return backgammon.write_sgf(stored)
    _require_board(replayed.game)
    views = [replayed.game.view(state) for state in replayed.position.states]
    root = "".join(f"{name}[{value}]" for name, value in _root(stored, replayed, views[0]))
    nodes = [
        _node(move, _point(before, after, move.action, move.seat), replayed.time_controls)
        for move, (before, after) in zip(stored.moves, pairwise(views), strict=True)
        if not before.areas  # in a stage of counting, which SGF does not have
    ]
    return f"(;{root}\n{filled([*nodes, ')'])}\n"


def suits(game: Game) -> bool:
    """Whether matches of a game can be written."""
    if backgammon.suits(game):
        return True
    try:
        _require_board(game)
    except Unsuitable:
        return False
    return True


def _require_board(game: Game) -> None:
    """Raise Unsuitable unless the game places stones on one grid within SGF's letters."""
    if game.has_chance:
        raise Unsuitable(f"{game} has rolls")
    state = game.initial_state()
    view = game.view(state)
    if view.geometry != "grid" or view.block:
        raise Unsuitable(f"{game} is not played on one grid")
    if any(view.kinds):
        raise Unsuitable(f"{game} has several kinds of pieces")
    if max(view.rows, view.columns) > len(LETTERS):
        raise Unsuitable(f"the board is larger than {len(LETTERS)} by {len(LETTERS)}")
    for action in game.legal_actions(state):
        _target(view, action)


def _target(view: BoardView, action: int) -> int | None:
    """The empty cell on which an action puts a stone, None for a pass. Raises Unsuitable."""
    clicks = view.clicks.get(action)
    if clicks == ():
        return None
    if clicks is None or len(clicks) != 1 or view.cells[clicks[0]]:
        raise Unsuitable(f"action {action} does not put a stone on an empty point")
    return clicks[0]


def root_of(game: Game) -> str:
    """Return the properties of a root node without a match. Raises Unsuitable."""
    _require_board(game)
    view = game.view(game.initial_state())
    properties = (*_board(game, view), *_komi(game), *_stones(view))
    return "".join(f"{name}[{value}]" for name, value in properties)


def node(before: Position, after: Position) -> str:
    """Return the node of a move; "" in a stage of counting. Raises Unsuitable."""
    views = [each.game.view(each.state) for each in (before, after)]
    if views[0].areas:
        return ""
    point = _point(views[0], views[1], after.moves[-1], before.to_move)
    return f";{COLOURS[before.to_move]}[{point}]"


def _point(before: BoardView, after: BoardView, action: int, seat: int) -> str:
    """The point of a move in SGF's letters, empty for a pass. Raises Unsuitable."""
    cell = _target(before, action)
    if cell is None:
        return ""
    if after.cells[cell] != seat:
        raise Unsuitable(f"action {action} does not leave a stone of its player on its point")
    return _letters(cell, before)


def _letters(cell: int, view: BoardView) -> str:
    row, column = divmod(cell, view.columns)
    return LETTERS[column] + LETTERS[row]


def _root(stored: StoredMatch, replayed: Replay, view: BoardView) -> Iterator[tuple[str, str]]:
    """The properties of the root node, in their order."""
    started = stored.started
    yield from _board(replayed.game, view)
    yield "GN", escaped(plain(started.match))
    yield "DT", utc(started.at).date().isoformat()
    yield "PB", escaped(plain(started.players[0]))
    yield "PW", escaped(plain(started.players[1]))
    yield from _time(replayed.time_controls)
    if remarks := [*_different_times(replayed.time_controls), *_bots(started)]:
        yield "C", escaped(plain("; ".join(remarks)))
    yield from _komi(replayed.game)
    yield "RE", _result(stored.ended, replayed.game.lead(replayed.position.state))
    if stored.ended:
        yield "GC", escaped(plain(stored.ended.text))
    yield from _stones(view)


def _board(game: Game, view: BoardView) -> Iterator[tuple[str, str]]:
    yield "FF", "4"
    yield "CA", "UTF-8"
    if game.sgf_number is not None:  # without it, readers assume go
        yield "GM", str(game.sgf_number)
    yield "SZ", str(view.rows) if view.rows == view.columns else f"{view.columns}:{view.rows}"
    yield "RU", escaped(plain(str(game)))


def _komi(game: Game) -> Iterator[tuple[str, str]]:
    if game.komi is not None:
        yield "KM", f"{game.komi:g}"


def _stones(view: BoardView) -> Iterator[tuple[str, str]]:
    for seat, property_ in ((1, "AB"), (2, "AW")):
        stones = [_letters(cell, view) for cell, owner in enumerate(view.cells) if owner == seat]
        if stones:
            yield property_, "][".join(stones)


def _time(both: tuple[TimeControl, TimeControl] | None) -> Iterator[tuple[str, str]]:
    if both is None:
        return
    time_control = both[0]
    if time_control != both[1]:  # SGF has one time limit for both
        return
    yield "TM", decimal(time_control.main_s)
    if time_control.periods:
        yield "OT", f"{time_control.periods}x{decimal(time_control.period_s)} byo-yomi"
    elif time_control.increment_s:
        yield "OT", f"{decimal(time_control.increment_s)} fischer"
    elif time_control.delay_s:
        yield "OT", f"{decimal(time_control.delay_s)} delay"


def _different_times(both: tuple[TimeControl, TimeControl] | None) -> Iterator[str]:
    if both and both[0] != both[1]:
        yield f"Time control: {spell_time_controls(both)}"


def _bots(started: MatchStarted) -> Iterator[str]:
    """The player specification of each bot of the server."""
    for name, player in zip(started.players, started.bots, strict=True):
        if player:
            yield f"{name} is the program {player}"


def _result(ended: MatchEnded | None, lead: float | None) -> str:
    if ended is None:
        return "?"
    if ended.winner == TIE:
        return "0"
    if ended.winner == 0:
        return "Void"
    if ended.reason is Reason.RULES and lead:
        return f"{COLOURS[ended.winner]}+{abs(lead):g}"
    return f"{COLOURS[ended.winner]}+{_HOW.get(ended.reason, '')}"


def _node(move: MovePlayed, point: str, both: tuple[TimeControl, TimeControl] | None) -> str:
    colour = COLOURS[move.seat]
    node = f";{colour}[{point}]"
    if both and move.clocks:
        left = move.clocks[move.seat - 1]
        node += f"{colour}L[{decimal(shown_s(both[move.seat - 1], left))}]"
        if (
            left.periods and not left.main_s
        ):  # as Go servers do: the remaining periods, once they count
            node += f"O{colour}[{left.periods}]"
    return node
