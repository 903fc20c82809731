"""JSON Lines: one match per line, with all its stored data, for a lossless import.

A line has the fields of the records of a match, except where its readers need another form:

* It is for people and other programs: what belongs to both players is a pair, the clocks of a move
  are two pairs, and fields of ladders and of the end are objects of their own.
* It is read from strangers: each field has bounds, which records do not check again.
* Data of one database or one player is left out: a line has the names of the players, but neither
  the ids of their accounts nor the keys of their sessions.
"""

from __future__ import annotations

import codecs
import io
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from playout.commands.text import plain
from playout.protocol.dice import Dice
from playout.protocol.faults_in_words import fault_of
from playout.protocol.messages import (
    ID_PATTERN,
    LINE_PATTERN,
    Action,
    Analysis,
    ClockState,
    Digits,
    Int32,
    Label,
    Mover,
    Name,
    Reason,
    Seat,
    Seconds,
    Speed,
)
from playout.protocol.names import invisible_in
from playout.protocol.time_control import spell_time_controls
from playout.server.export.replay import Contradiction, Replay, check_result, replay
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    converted,
    flat,
    spelled_luck,
    stored_analysis,
)

VERSION = 1

MatchId = Annotated[str, Meta(min_length=1, max_length=64, pattern=ID_PATTERN)]
Remark = Annotated[str, Meta(max_length=500, pattern=LINE_PATTERN)]
#: Seconds since 1970, before the year 10000.
Instant = Annotated[float, Meta(ge=0, lt=253402300800)]
Left = tuple[Seconds, Int32]
#: The luck of a roll, in points.
Luck = Annotated[float, Meta(ge=-1, le=1)]

T = TypeVar("T")


class _Ended(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    winner: Literal[1, 2, -1, 0]
    returns: tuple[float, float]
    reason: Reason
    text: Remark
    missing: Seat | None = None
    at: Instant
    luck: tuple[Luck, ...] | None = None


class _Ladder(Struct, frozen=True, forbid_unknown_fields=True):
    pair: MatchId
    versions: tuple[Label, Label]


class _Line(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    version: int
    match: MatchId
    game: str
    players: tuple[Name, Name]
    clock: str
    rated: bool
    illegal_moves: Int32
    credit_cap_s: Seconds
    at: Instant
    opening: Int32 = 0
    max_plies: Int32 = 0
    tournament: MatchId | None = None
    fixture: Remark | None = None
    ladder: _Ladder | None = None
    bots: tuple[Remark | None, Remark | None] | None = None
    core_speed: Speed | None = None
    commitment: Digits | None = None
    key: Digits | None = None
    moves: list[Raw]
    finished: _Ended | None


class _Move(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    ply: Int32
    seat: Mover
    action: Action
    clocks: tuple[Left, Left] | None = None
    info: Analysis | None = None
    at: Instant


class _Version(Struct, frozen=True):
    version: int


class BadLine(ValueError):
    """A line that is not a valid match: its number, the field, and the expected value."""

    def __init__(self, number: int, field: str, text: str) -> None:
        where = f"line {number}: {field}" if field else f"line {number}"
        super().__init__(plain(f"{where}: {text}"))
        self.number = number
        self.field = field


def write(stored: StoredMatch) -> str:
    """The match as one line of JSON."""
    return encoded(stored).decode()


def encoded(stored: StoredMatch) -> bytes:
    """The match as one line of JSON, in UTF-8.

    A long match may have tens of megabytes, so other threads can run between its moves.
    """
    # No text can contain this key, as its quotation marks would be escaped there.
    head, key, tail = msgspec.json.encode(_line(stored)).partition(b'"moves":[')
    line = io.BytesIO()  # whose content is not copied at the end
    line.write(head + key)
    for number, move in enumerate(stored.moves):
        line.write(b"," if number else b"")
        line.write(msgspec.json.encode(_written_move(move)))
    line.write(tail + b"\n")
    return line.getvalue()


def _line(stored: StoredMatch) -> _Line:
    """The line without its moves."""
    started, ended = stored.started, stored.ended
    pair, dice = started.ladder_pair, started.dice
    return converted(
        _Line,
        started,
        commitment=dice.commitment if dice else None,
        key=dice.key if dice and ended else None,
        version=VERSION,
        ladder=_Ladder(pair, started.versions) if pair else None,
        bots=started.bots if any(started.bots) else None,
        moves=[],
        finished=converted(_Ended, ended, luck=ended.luck_of_rolls) if ended else None,
    )


def read(text: str | bytes, number: int = 1) -> StoredMatch:
    """The match of a line, checked by a replay. Raises BadLine.

    `number`: the number of the line, for errors.
    """
    mark = codecs.BOM_UTF8
    text = text.removeprefix(mark) if isinstance(text, bytes) else text.removeprefix(mark.decode())
    try:
        stored = _read(text)
        _check(stored, replay(stored))
    except Contradiction as error:
        raise BadLine(number, error.field, error.text) from error
    return stored


def _written_move(move: MovePlayed) -> _Move:
    clocks = move.clocks and tuple((left.main_s, left.periods) for left in move.clocks)
    return converted(_Move, move, clocks=clocks, info=move.info and Raw(move.info))


def _read(text: str | bytes) -> StoredMatch:
    version = _decoded(text, _Version).version
    if version != VERSION:
        raise Contradiction("version", f"expected {VERSION}, the only known one, not {version}")
    line = _decoded(text, _Line)
    if line.key and line.commitment and Dice(line.match, line.key).commitment != line.commitment:
        raise Contradiction("key", "expected the key whose SHA-256 is the commitment")
    return StoredMatch(
        started=_match_started(line),
        moves=tuple(
            _move_played(line.match, _decoded(raw, _Move, f"moves[{ply}]"))
            for ply, raw in enumerate(line.moves)
        ),
        ended=_match_ended(line),
    )


def _decoded(text: str | bytes | Raw, kind: type[T], where: str = "") -> T:
    """Decode a value of that type; the field of a Contradiction is below `where`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        path, what = fault_of(error, kind)
        if path.rpartition(".")[2] in ("winner", "proven") and "one of" in what:
            what += " (-1 is a tie, 0 no result)" if path.endswith("winner") else " (0 is a tie)"
        below = f"{where}.{path}" if where and path else where or path
        raise Contradiction(below, what) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Contradiction(where, f"expected a JSON object: {error}") from error


def _match_started(line: _Line) -> MatchStarted:
    pairs = {
        "players": line.players,
        "sessions": ("", ""),
        "bots": line.bots or (None, None),
        "versions": line.ladder.versions if line.ladder else (None, None),
    }
    pair = line.ladder.pair if line.ladder else None
    return converted(MatchStarted, line, ladder_pair=pair, dice_key=line.key, **flat(**pairs))


def _move_played(match: str, move: _Move) -> MovePlayed:
    clocks = move.clocks and tuple(ClockState(*left) for left in move.clocks)
    info = move.info and stored_analysis(move.info)
    return converted(MovePlayed, move, match=match, info=info, **flat(clocks=clocks))


def _match_ended(line: _Line) -> MatchEnded | None:
    ended = line.finished
    if ended is None:
        return None
    luck = None if ended.luck is None else spelled_luck(ended.luck)
    return converted(MatchEnded, ended, match=line.match, luck=luck, **flat(returns=ended.returns))


def _check(stored: StoredMatch, replayed: Replay) -> None:
    """Check names, canonical spellings, clocks and the result, which types cannot describe.

    Raises Contradiction.
    """
    started = stored.started
    for seat, name in enumerate(started.players):
        if not name.isprintable() or name != name.strip():
            text = "expected printable characters, without spaces at the ends"
            raise Contradiction(f"players[{seat}]", text)
    for field, given, canonical in (
        ("game", started.game, str(replayed.game)),
        ("clock", started.clock, spell_time_controls(replayed.time_controls)),
    ):
        if given != canonical:
            raise Contradiction(field, f"expected the spelling {canonical!r}, not {given!r}")
    for move in stored.moves:
        if (move.clocks is None) != (replayed.time_controls is None):
            expected = "the remaining times" if replayed.time_controls else "none"
            text = f"expected {expected} with the clock {started.clock}"
            raise Contradiction(f"moves[{move.ply}].clocks", text)
    for place, version in enumerate(started.versions):
        if found := invisible_in(version):
            text = f"expected visible characters, not {found}"
            raise Contradiction(f"ladder.versions[{place}]", text)
    if stored.ended:
        check_result(replayed, stored.ended)
        rolled = stored.moves[started.opening :]
        made = {move.seat for move in rolled}
        if stored.ended.missing in made:
            raise Contradiction("finished.missing", "expected a player who has made no move")
        rolls = sum(move.seat == 0 for move in rolled)
        if len(stored.ended.luck_of_rolls or ()) not in (0, rolls):
            raise Contradiction("finished.luck", f"expected a number for each of {rolls} rolls")
