"""JSON Lines: one match per line, with all its stored data, for a lossless import.

Data of one database or one player is left out: a line has the names of the players, but neither the
ids of their accounts nor the keys of their sessions.
"""

from __future__ import annotations

import io
import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, structs

from playout.commands.text import plain
from playout.protocol.messages import (
    Action,
    Analysis,
    ClockState,
    Int32,
    Label,
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
    LadderMatch,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
)

VERSION = 1

MatchId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
Remark = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z")]
#: Seconds since 1970, before the year 10000.
Instant = Annotated[float, Meta(ge=0, lt=253402300800)]
Left = tuple[Seconds, Int32]

T = TypeVar("T")


class _Ended(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    winner: Literal[1, 2, -1, 0]
    returns: tuple[float, float]
    reason: Reason
    text: Remark
    missing: Seat | None = None
    at: Instant


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
    moves: list[Raw]
    finished: _Ended | None


class _Move(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    ply: Int32
    seat: Seat
    action: Action
    clocks: tuple[Left, Left] | None = None
    info: Analysis | None = None
    at: Instant


class _Version(Struct, frozen=True):
    version: int


#: The allowed values of fields that are enumerations, for errors.
_CHOICES = {
    "seat": "1 or 2",
    "proven": "1, 0 or -1",
    "winner": "1, 2, -1 for a tie or 0 for no result",
    "reason": ", ".join(Reason),
}

_NAMED = re.compile(r"\bfield `(.*)`")


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
    return _Line(
        version=VERSION,
        match=started.match,
        game=started.game,
        players=started.players,
        clock=started.clock,
        rated=started.rated,
        illegal_moves=started.illegal_moves,
        credit_cap_s=started.credit_cap_s,
        at=started.at,
        opening=started.opening,
        max_plies=started.max_plies,
        tournament=started.tournament,
        fixture=started.fixture,
        ladder=_Ladder(started.ladder.pair, started.ladder.versions) if started.ladder else None,
        bots=started.bots if any(started.bots) else None,
        core_speed=started.core_speed,
        moves=[],
        finished=_written_end(ended) if ended else None,
    )


def read(text: str | bytes, number: int = 1) -> StoredMatch:
    """The match of a line, checked by a replay. Raises BadLine.

    `number`: the number of the line, for errors.
    """
    try:
        stored = _read(text)
        _check(stored, replay(stored))
    except Contradiction as error:
        raise BadLine(number, error.field, error.text) from error
    return stored


def _written_move(move: MovePlayed) -> _Move:
    clocks = move.clocks and tuple((left.main_s, left.periods) for left in move.clocks)
    fields = structs.asdict(move) | {"clocks": clocks}
    del fields["match"]
    return _Move(**fields)


def _written_end(ended: MatchEnded) -> _Ended:
    fields = structs.asdict(ended)
    del fields["match"]
    return _Ended(**fields)


def _read(text: str | bytes) -> StoredMatch:
    version = _decoded(text, _Version).version
    if version != VERSION:
        raise Contradiction("version", f"expected {VERSION}, the only known one, not {version}")
    line = _decoded(text, _Line)
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
        what, _, path = str(error).rpartition(" - at `$")
        what, path = (what, path.rstrip("`")) if what else (str(error), "")
        if named := _NAMED.search(what):  # a missing or an unknown field
            path += f".{named[1]}"
        field = f"{where}{path}".removeprefix(".")
        choices = _CHOICES.get(field.rpartition(".")[2], "")
        hint = f"; expected {choices}" if choices and "enum" in what else ""
        raise Contradiction(field, what + hint) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Contradiction(where, f"expected a JSON object: {error}") from error


def _match_started(line: _Line) -> MatchStarted:
    fields: dict[str, Any] = structs.asdict(line)
    for name in ("version", "moves", "finished"):
        del fields[name]
    fields["bots"] = line.bots or (None, None)
    if line.ladder:
        fields["ladder"] = LadderMatch(line.ladder.pair, line.ladder.versions)
    return MatchStarted(**fields, accounts=(None, None), sessions=("", ""))


def _move_played(match: str, move: _Move) -> MovePlayed:
    fields: dict[str, Any] = structs.asdict(move)
    if move.clocks:
        fields["clocks"] = tuple(ClockState(*left) for left in move.clocks)
    return MovePlayed(match=match, **fields)


def _match_ended(line: _Line) -> MatchEnded | None:
    if line.finished is None:
        return None
    return MatchEnded(match=line.match, **structs.asdict(line.finished))


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
    for place, version in enumerate(started.ladder.versions if started.ladder else ()):
        if found := invisible_in(version):
            text = f"expected visible characters, not {found}"
            raise Contradiction(f"ladder.versions[{place}]", text)
    if stored.ended:
        check_result(replayed, stored.ended)
        made = {move.seat for move in stored.moves[started.opening :]}
        if stored.ended.missing in made:
            raise Contradiction("finished.missing", "expected a player who has made no move")
