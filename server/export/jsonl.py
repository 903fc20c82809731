"""JSON Lines: a match a line, with everything that is stored of it, to be read back without loss.

But for what belongs to one database or to one player alone: a line has the names of the players,
and neither the ids of their accounts nor the keys of their sessions. What is read back has no
account and no session; `portable` says what becomes of a match on the way.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, structs

from server.export.replay import Contradiction, Replay, check_result, replay
from server.export.text import plain
from server.model.messages import Action, Analysis, ClockState, Count, Name, Reason, Seat, Seconds
from server.model.records import MatchEnded, MatchStarted, MovePlayed, StoredMatch
from server.model.time_control import spell_time_control

VERSION = 1

MatchId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
Remark = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z")]
#: Seconds since 1970, before the year 10000.
Instant = Annotated[float, Meta(ge=0, lt=253402300800)]
Left = tuple[Seconds, Count]

T = TypeVar("T")


class _Finished(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    winner: Literal[1, 2, -1, 0]
    returns: tuple[float, float]
    reason: Reason
    text: Remark
    at: Instant


class _Line(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    version: int
    match: MatchId
    game: str
    players: tuple[Name, Name]
    clock: str
    rated: bool
    illegal_moves: Count
    credit_cap_s: Seconds
    at: Instant
    opening: Count = 0
    max_plies: Count = 0
    tournament: MatchId | None = None
    fixture: Remark | None = None
    moves: list[Raw]
    finished: _Finished | None


class _Move(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    ply: Count
    seat: Seat
    action: Action
    clocks: tuple[Left, Left] | None = None
    info: Analysis | None = None
    at: Instant


class _Version(Struct, frozen=True):
    version: int


#: What may stand where only some values may.
_CHOICES = {
    "seat": "1 or 2",
    "proven": "1, 0 or -1",
    "winner": "1, 2, -1 for a tie or 0 for no result",
    "reason": ", ".join(Reason),
}

_NAMED = re.compile(r"\bfield `(.*)`")


class BadLine(ValueError):
    """A line that is no match: its number, the field, and what was expected there."""

    def __init__(self, number: int, field: str, text: str) -> None:
        where = f"line {number}: {field}" if field else f"line {number}"
        super().__init__(plain(f"{where}: {text}"))
        self.number = number
        self.field = field


def portable(kept: StoredMatch) -> StoredMatch:
    """The match as it is read back: without accounts and sessions."""
    nobody = (None, None)
    begun = structs.replace(kept.started, accounts=nobody, sessions=("", ""), bots=nobody)
    return structs.replace(kept, started=begun)


def write(kept: StoredMatch) -> str:
    """A match as one line."""
    begun, finished = kept.started, kept.ended
    line = _Line(
        version=VERSION,
        match=begun.match,
        game=begun.game,
        players=begun.players,
        clock=begun.clock,
        rated=begun.rated,
        illegal_moves=begun.illegal_moves,
        credit_cap_s=begun.credit_cap_s,
        at=begun.at,
        opening=begun.opening,
        max_plies=begun.max_plies,
        tournament=begun.tournament,
        fixture=begun.fixture,
        moves=[Raw(msgspec.json.encode(_written(move))) for move in kept.moves],
        finished=_ended(finished) if finished else None,
    )
    return msgspec.json.encode(line).decode() + "\n"


def read(text: str | bytes, number: int = 1) -> StoredMatch:
    """The match of a line, played through by the rules. Raises BadLine.

    `number` is that of the line, for the error.
    """
    try:
        kept = _read(text)
        _check(kept, replay(kept))
    except Contradiction as error:
        raise BadLine(number, error.field, error.text) from error
    return kept


def _written(move: MovePlayed) -> _Move:
    clocks = move.clocks and tuple((left.main_s, left.periods) for left in move.clocks)
    fields = structs.asdict(move) | {"clocks": clocks}
    del fields["match"]
    return _Move(**fields)


def _ended(finished: MatchEnded) -> _Finished:
    fields = structs.asdict(finished)
    del fields["match"]
    return _Finished(**fields)


def _read(text: str | bytes) -> StoredMatch:
    version = _decoded(text, _Version).version
    if version != VERSION:
        raise Contradiction("version", f"expected {VERSION}, the only one known; not {version}")
    line = _decoded(text, _Line)
    return StoredMatch(
        started=_begun(line),
        moves=tuple(
            _played(line.match, _decoded(raw, _Move, f"moves[{ply}]"))
            for ply, raw in enumerate(line.moves)
        ),
        ended=_finished(line),
    )


def _decoded(text: str | bytes | Raw, kind: type[T], where: str = "") -> T:
    """Text as a value of that kind; the field of a Contradiction is below `where`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        what, _, path = str(error).rpartition(" - at `$")
        what, path = (what, path.rstrip("`")) if what else (str(error), "")
        if named := _NAMED.search(what):  # a field that is missing, or too many
            path += f".{named[1]}"
        field = f"{where}{path}".removeprefix(".")
        choices = _CHOICES.get(field.rpartition(".")[2], "")
        hint = f"; expected {choices}" if choices and "enum" in what else ""
        raise Contradiction(field, what + hint) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Contradiction(where, f"expected a JSON object: {error}") from error


def _begun(line: _Line) -> MatchStarted:
    fields: dict[str, Any] = structs.asdict(line)
    for name in ("version", "moves", "finished"):
        del fields[name]
    return MatchStarted(**fields, accounts=(None, None), sessions=("", ""))


def _played(match: str, move: _Move) -> MovePlayed:
    fields: dict[str, Any] = structs.asdict(move)
    if move.clocks:
        fields["clocks"] = tuple(ClockState(*left) for left in move.clocks)
    return MovePlayed(match=match, **fields)


def _finished(line: _Line) -> MatchEnded | None:
    if line.finished is None:
        return None
    return MatchEnded(match=line.match, **structs.asdict(line.finished))


def _check(kept: StoredMatch, replayed: Replay) -> None:
    """What types do not tell. Raises Contradiction."""
    begun = kept.started
    for seat, name in enumerate(begun.players):
        if not name.isprintable() or name != name.strip():
            text = "expected printable characters, and no space at either end"
            raise Contradiction(f"players[{seat}]", text)
    for field, given, canonical in (
        ("game", begun.game, str(replayed.game)),
        ("clock", begun.clock, spell_time_control(replayed.time_control)),
    ):
        if given != canonical:
            raise Contradiction(field, f"expected it spelled {canonical!r}, not {given!r}")
    for move in kept.moves:
        if (move.clocks is None) != (replayed.time_control is None):
            text = (
                f"expected {'what is left' if replayed.time_control else 'none'} with {begun.clock}"
            )
            raise Contradiction(f"moves[{move.ply}].clocks", text)
    if kept.ended:
        check_result(replayed, kept.ended)
