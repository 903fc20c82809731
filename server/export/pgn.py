"""Text in the manner of PGN, for any game: tag pairs, and the moves as people write them.

PGN (S. J. Edwards, Standard: Portable Game Notation, 1994) is made for chess. This keeps its
grammar: the seven tags that come first, then others; `Variant` names the game, and tells programs
for chess that this is none. White is who has the first seat. Names of moves that are no symbols of
the grammar are written as its strings, in quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from games import TIE
from server.export.replay import Replay, replay
from server.export.text import filled, plain, shown_s, utc
from server.model.messages import Reason, TimeControl
from server.model.records import MatchEnded, MovePlayed, StoredMatch
from server.model.time_control import decimal

_RESULTS = {0: "*", 1: "1-0", 2: "0-1", TIE: "1/2-1/2"}

#: The words of the standard for how a game ended.
_TERMINATIONS = {
    Reason.RULES: "normal",
    Reason.RESIGNATION: "normal",
    Reason.TIME: "time forfeit",
    Reason.ABANDONMENT: "abandoned",
    Reason.ILLEGAL_MOVES: "rules infraction",
    Reason.ADJUDICATION: "adjudication",
    Reason.VOID: "abandoned",
    Reason.ADMINISTRATOR: "adjudication",
    Reason.ABORTED: "emergency",
}

_SYMBOL = re.compile(r"\w[\w+#=:/-]*")


def write(kept: StoredMatch) -> str:
    """A match, with an empty line at the end. Raises Contradiction."""
    replayed = replay(kept)
    tags = "\n".join(f"[{name} {_quoted(value)}]" for name, value in _tags(kept, replayed))
    moves = filled([*_movetext(kept, replayed), _result(kept.ended)], " ")
    return f"{tags}\n\n{moves}\n\n"


def _tags(kept: StoredMatch, replayed: Replay) -> Iterator[tuple[str, str]]:
    begun, finished, at = kept.started, kept.ended, utc(kept.started.at)
    yield "Event", "Rated match" if begun.rated else "Unrated match"
    yield "Site", "?"
    yield "Date", at.strftime("%Y.%m.%d")
    yield "Round", "-"
    yield "White", begun.players[0]
    yield "Black", begun.players[1]
    yield "Result", _result(finished)
    yield "GameId", begun.match
    if finished:
        yield "Reason", finished.reason
        yield "Remark", finished.text
    yield "Termination", _TERMINATIONS[finished.reason] if finished else "unterminated"
    yield "TimeControl", _time_control(replayed.time_control, begun.clock)
    yield "UTCDate", at.strftime("%Y.%m.%d")
    yield "UTCTime", at.strftime("%H:%M:%S")
    yield "Variant", begun.game


def _time_control(control: TimeControl | None, notation: str) -> str:
    """As the standard writes it where it can: moves/seconds, or none; else our own notation."""
    if control is None:
        return "-"
    if control.periods == 1 and not control.main_s:
        return f"1/{decimal(control.period_s)}"
    return notation


def _result(finished: MatchEnded | None) -> str:
    return _RESULTS[finished.winner if finished else 0]


def _movetext(kept: StoredMatch, replayed: Replay) -> Iterator[str]:
    """`1. e4 e5 2. ...`; a move of Black that does not follow one of White has `1...` before it."""
    number, numbered = 0, False
    for move, state in zip(kept.moves, replayed.states, strict=False):
        if move.seat == 1 or number == 0:
            number += 1
        if move.seat == 1:
            yield f"{number}."
        elif not numbered:
            yield f"{number}..."
        numbered = move.seat == 1
        yield _symbol(replayed.game.action_name(state, move.action))
        if replayed.time_control and move.clocks:
            yield _clock(replayed.time_control, move)
            numbered = False


def _symbol(name: str) -> str:
    return name if _SYMBOL.fullmatch(name) and name not in _RESULTS.values() else _quoted(name)


def _clock(control: TimeControl, move: MovePlayed) -> str:
    assert move.clocks is not None
    tenths = round(10 * shown_s(control, move.clocks[move.seat - 1]))
    minutes, tenths = divmod(tenths, 600)
    return f"{{[%clk {minutes // 60}:{minutes % 60:02}:{tenths // 10:02}.{tenths % 10}]}}"


def _quoted(text: str) -> str:
    return '"' + plain(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
