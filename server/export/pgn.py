"""PGN for chess, and text in its grammar for any other game: tag pairs, then the moves.

PGN (S. J. Edwards, Standard: Portable Game Notation, 1994) is made for chess. Other games keep its
grammar: the seven required tags, then others; `Variant` names the game, so that chess programs do
not read it as chess. White is the player in the first seat. Names of moves that are not symbols of
the grammar are written as strings, in quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from playout.commands.text import filled, plain, utc
from playout.games import TIE
from playout.games.core import spec
from playout.protocol.messages import Reason, TimeControl
from playout.protocol.time_control import decimal, shown_s, spell_time_control
from playout.server.export.replay import Replay, replay
from playout.server.model.records import MatchEnded, MovePlayed, StoredMatch

_RESULTS = {0: "*", 1: "1-0", 2: "0-1", TIE: "1/2-1/2"}

#: The terms of the standard for the end of a game.
_TERMINATIONS = {
    Reason.RULES: "normal",
    Reason.AGREEMENT: "normal",
    Reason.RESIGNATION: "normal",
    Reason.TIME: "time forfeit",
    Reason.ABANDONMENT: "abandoned",
    Reason.ILLEGAL_MOVES: "rules infraction",
    Reason.CRASH: "abandoned",
    Reason.ADJUDICATION: "adjudication",
    Reason.VOID: "abandoned",
    Reason.ADMINISTRATOR: "adjudication",
    Reason.ABORTED: "emergency",
}

#: The numbers of PDN for games of draughts, the side that begins, its board and its notation.
GAME_TYPES = {"draughts": "20,W,10,10,N2,0", "checkers": "21,W,8,8,N1,0"}

_SYMBOL = re.compile(r"\w[\w+#=:/-]*")


def write(stored: StoredMatch) -> str:
    """The match as PGN text, with an empty line at the end. Raises Contradiction."""
    replayed = replay(stored)
    tags = "\n".join(tag(name, value) for name, value in _tags(stored, replayed))
    moves = filled([*_movetext(stored, replayed), _result(stored.ended)], " ")
    return f"{tags}\n\n{moves}\n\n"


def tag(name: str, value: str) -> str:
    """Return a tag pair, with the value in quotation marks."""
    return f"[{name} {_quoted(value)}]"


def _tags(stored: StoredMatch, replayed: Replay) -> Iterator[tuple[str, str]]:
    started, ended, at = stored.started, stored.ended, utc(stored.started.at)
    yield "Event", "Rated match" if started.rated else "Unrated match"
    yield "Site", "?"
    yield "Date", at.strftime("%Y.%m.%d")
    yield "Round", started.fixture or "-"
    yield "White", started.players[0]
    yield "Black", started.players[1]
    yield "Result", _result(ended)
    yield "GameId", started.match
    if ended:
        yield "Reason", ended.reason
        yield "Remark", ended.text
    yield "Termination", _TERMINATIONS[ended.reason] if ended else "unterminated"
    yield from _time_controls(replayed.time_controls)
    yield from _bots(started.bots)
    yield "UTCDate", at.strftime("%Y.%m.%d")
    yield "UTCTime", at.strftime("%H:%M:%S")
    yield from game_tags(started.game)


def game_tags(game: str) -> Iterator[tuple[str, str]]:
    """Yield the tags that name the game; none for chess."""
    given = spec.parse(game)
    if given.name != "chess":
        yield "Variant", game
        if given.name in GAME_TYPES:
            yield "GameType", GAME_TYPES[given.name]
    if fen := given.options.get("fen"):
        yield "SetUp", "1"
        yield "FEN", fen.replace(";", ",")


def _bots(bots: tuple[str | None, str | None]) -> Iterator[tuple[str, str]]:
    """Yield the standard's tag for programs, and the player specification of each bot."""
    for colour, player in zip(("White", "Black"), bots, strict=True):
        if player:
            yield f"{colour}Type", "program"
            yield f"{colour}Program", player


def _time_controls(
    both: tuple[TimeControl, TimeControl] | None,
) -> Iterator[tuple[str, str]]:
    """Yield one tag, or the two of cutechess if the players have different time controls."""
    if both is None:
        yield "TimeControl", "-"
    elif both[0] == both[1]:
        yield "TimeControl", _time_control(both[0])
    else:
        yield "WhiteTimeControl", _time_control(both[0])
        yield "BlackTimeControl", _time_control(both[1])


def _time_control(time_control: TimeControl) -> str:
    """The time control in the notation of the standard, or in that of Playout."""
    if time_control.periods == 1 and not time_control.main_s:
        return f"1/{decimal(time_control.period_s)}"
    return spell_time_control(time_control)


def _result(ended: MatchEnded | None) -> str:
    return _RESULTS[ended.winner if ended else 0]


def _movetext(stored: StoredMatch, replayed: Replay) -> Iterator[str]:
    """Yield `1.`, `e4`, `e5`, `2.` ...; `1...` before a move of Black after none of White.

    The first number is that of the position; several captures of draughts are one move. Rolls have
    no numbers.
    """
    number, numbered, seat = replayed.game.first_number - 1, False, 0
    for first, end in _turns(stored, replayed):
        move = stored.moves[end - 1]
        state, actions = replayed.position.states[first], replayed.position.moves[first:end]
        name = symbol(replayed.game.turn_name(state, actions))
        if move.seat == 0:
            yield name
            continue
        if seat == 0 or (move.seat == 1 and seat == 2):
            number += 1
        if move.seat == 1 and seat != 1:
            yield f"{number}."
        elif move.seat == 2 and not (numbered or seat == 2):
            yield f"{number}..."
        numbered, seat = move.seat == 1, move.seat
        yield name
        if replayed.time_controls and move.clocks:
            yield _clock(replayed.time_controls[move.seat - 1], move)
            numbered = False


def _turns(stored: StoredMatch, replayed: Replay) -> Iterator[tuple[int, int]]:
    """Yield the first ply and the end of each move, which may be several plies of one player."""
    first, moves = 0, stored.moves
    while first < len(moves):
        end = first + 1
        while end < len(moves) and moves[end].seat == moves[first].seat:
            end += 1
        state, played = replayed.position.states[first], replayed.position.moves
        if end > first + 1 and not replayed.game.turn_name(state, played[first:end]):
            end = first + 1
        yield first, end
        first = end


def symbol(name: str) -> str:
    """Return the name of a move, in quotation marks if it is no symbol of the grammar."""
    return name if _SYMBOL.fullmatch(name) and name not in _RESULTS.values() else _quoted(name)


def _clock(time_control: TimeControl, move: MovePlayed) -> str:
    assert move.clocks is not None
    tenths = round(10 * shown_s(time_control, move.clocks[move.seat - 1]))
    minutes, tenths = divmod(tenths, 600)
    return f"{{[%clk {minutes // 60}:{minutes % 60:02}:{tenths // 10:02}.{tenths % 10}]}}"


def _quoted(text: str) -> str:
    return '"' + plain(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
