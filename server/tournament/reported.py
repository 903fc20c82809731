"""Tournaments that were played elsewhere, as their players report them: packed, read and checked.

Nobody can prove that reported matches were played. So they are checked as imported matches are, by
the rules, and rated apart: see `playout.ratings.leaderboard`. Their players are names without an
account. Ids follow from the reporter and from the ids elsewhere, so that a report changes nothing
when it comes again, and never a match of the server. Matches that the account has reported in
another tournament are shown, and not rated again: see `playout.server.storage.rating_keeper`.

An administrator may report matches without a reporter, which are rated with those of the server, as
imported ones are.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct, structs

from playout.protocol.dice import verified_rolls
from playout.protocol.tournament_spec import TournamentSpec, dumps, loads, public
from playout.server.export import jsonl
from playout.server.export.replay import replay
from playout.server.model.records import (
    EntrantWithdrawn,
    Record,
    StoredMatch,
    StoredTournament,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.tournament import formats, spec_validation
from playout.server.tournament.ledger import LEGS, UNREADABLE, Ledger, StoredGame, parse_slot

#: Maximum size of the matches of a request in bytes, and their number.
MOST_BYTES, MOST_MATCHES = 2**19, 100
#: Maximum number of pairs of a tournament.
MOST_PAIRS = 50_000
#: U+0000 in JSON, after an even number of backslashes: one before it makes five other characters.
_ZERO = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
#: The seconds by which the clock of a reporter may be ahead.
AHEAD_S = 300.0


class BadReport(ValueError):
    """A report that is refused; the text says why."""


class ReportedTournament(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tournament that is over, without its matches; `withdrawn` as in StoredTournament."""

    spec: TournamentSpec
    withdrawn: tuple[int, ...]
    ended_at: float


_decode_tournament = msgspec.json.Decoder(ReportedTournament).decode


def packed(text: bytes) -> str:
    """Return a text as a request has it."""
    return base64.b64encode(zlib.compress(text, 9)).decode()


def _unpacked(text: str) -> bytes:
    """Return a text of a request. Raises BadReport."""
    inflating = zlib.decompressobj()
    try:
        found = inflating.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise BadReport(f"expected Base64 of data compressed by zlib: {error}") from error
    if not inflating.eof:
        raise BadReport(f"expected at most {MOST_BYTES:,} bytes, compressed as a whole")
    # PostgreSQL holds no such text: the other records of the report would be stored without it.
    if _ZERO.search(found):
        raise BadReport("expected texts without the character U+0000")
    return found


def lines_of(stored: StoredTournament) -> Iterator[bytes]:
    """Yield the ended matches of a tournament as lines for a report, without analyses."""
    for each in stored.matches:
        if each.ended:
            moves = tuple(structs.replace(move, info=None) for move in each.moves)
            yield jsonl.encoded(structs.replace(each, moves=moves))


def whole_of(stored: StoredTournament) -> bytes:
    """Return a tournament that is over as JSON for a report: its public part."""
    assert stored.ended
    spec = loads(stored.created.spec)
    return msgspec.json.encode(
        ReportedTournament(spec=public(spec), withdrawn=stored.withdrawn, ended_at=stored.ended.at)
    )


def reported_id(account: str, tournament: str, at: float) -> str:
    """Return the id here of a tournament; later tournaments have later ids, as those made here."""
    digest = sha256(f"{account}\0{tournament}".encode()).hexdigest()
    return f"{int(1000 * at):011x}-{digest[:16]}"


def read_matches(
    text: str, first: int, tournament: str, account: str, to: str, now: float
) -> list[StoredMatch]:
    """Return the matches of a request, checked by the rules, as they are stored.

    `first` is the number of the first one, `tournament` the id in its lines, `to` that here.
    `account` is the id of the reporter, empty for matches that are rated with those of the server.
    Raises BadReport.
    """
    lines = _unpacked(text).splitlines()
    if not 0 < len(lines) <= MOST_MATCHES:
        raise BadReport(f"expected 1 to {MOST_MATCHES} matches, not {len(lines):,}")
    found = []
    for number, line in enumerate(lines, first):
        try:
            stored = jsonl.read(line, number + 1)
        except jsonl.BadLine as error:
            raise BadReport(f"match {error}") from error
        if fault := _fault(stored, tournament, now):
            raise BadReport(f"match {stored.started.match}: {fault}")
        found.append(_here(stored, f"{to}-{number:06d}", to, account))
    return found


def _fault(stored: StoredMatch, tournament: str, now: float) -> str | None:
    """Return what is wrong with a match that follows the rules."""
    started, ended = stored.started, stored.ended
    if started.tournament != tournament:
        return f"expected a match of the tournament {tournament}"
    if ended is None:
        return "it has not ended"
    if not started.at <= ended.at <= now + AHEAD_S:
        return "expected an end after its start, and not in the future"
    try:
        parse_slot(started.fixture or "")
    except ValueError:
        return "expected a fixture such as 1.1.1.1.1"
    if started.dice:
        rolls = verified_rolls(replay(stored).position, started.dice, started.opening)
        if not all(each.is_right for each in rolls):
            return "a roll does not follow from its key"
    return None


def _here(stored: StoredMatch, match: str, tournament: str, account: str) -> StoredMatch:
    """Return a match as it is stored: with other ids, without accounts."""
    assert stored.ended
    started = structs.replace(
        stored.started,
        match=match,
        tournament=tournament,
        rated=stored.started.rated and not account,
        first_bot=None,
        second_bot=None,
        ladder_pair=None,
        first_version=None,
        second_version=None,
        dice_key=None,
        reporter=account or None,
    )
    moves = tuple(structs.replace(each, match=match, info=None) for each in stored.moves)
    ended = structs.replace(stored.ended, match=match, luck=None)
    return StoredMatch(started=started, moves=moves, ended=ended)


def read_whole(
    text: str, to: str, at: float, games: Sequence[StoredGame], now: float
) -> list[Record]:
    """Return the records of a tournament with these matches, checked. Raises BadReport."""
    try:
        whole = _decode_tournament(_unpacked(text))
    except (ValueError, RecursionError) as error:
        raise BadReport(f"the tournament cannot be read: {error}") from error
    if not games:  # nothing else shows who has reported it
        raise BadReport("the tournament has no matches: report these first")
    if not at <= whole.ended_at <= now + AHEAD_S:
        raise BadReport("the tournament: expected an end after its start, and not in the future")
    created = TournamentCreated(tournament=to, name=whole.spec.name, spec=dumps(whole.spec), at=at)
    ended = TournamentEnded(tournament=to, at=whole.ended_at)
    try:
        for _ in spec_validation.check(whole.spec):
            pass
        if whole.spec.starts_at > whole.ended_at:
            raise BadReport("the tournament: expected a planned start before its end")
        most = formats.load(whole.spec).pair_count().most
        if most is not None and most > MOST_PAIRS:
            raise BadReport(f"a reported tournament has at most {MOST_PAIRS:,} pairs")
        stored = StoredTournament(created=created, withdrawn=whole.withdrawn, ended=ended)
        ledger = Ledger.restored(stored, games)
        _check_pairs(ledger)
    except BadReport:
        raise
    except (*UNREADABLE, IndexError, KeyError) as error:
        raise BadReport(f"the tournament: {error}") from error
    withdrawn: Iterable[Record] = (
        EntrantWithdrawn(tournament=to, number=number, entrant=entrant, at=whole.ended_at)
        for number, entrant in enumerate(whole.withdrawn, start=1)
    )
    return [created, *withdrawn, ended]


def _check_pairs(ledger: Ledger) -> None:
    """Check that the matches are those of the tournament's pairs. Raises BadReport."""
    if not all(0 <= each < len(ledger.spec.entrants) for each in ledger.withdrawn):
        raise BadReport("expected the numbers of entrants that have withdrawn")
    if len(set(ledger.withdrawn)) < len(ledger.withdrawn):
        raise BadReport("expected each entrant that has withdrawn once")
    names = [each.name for each in ledger.spec.entrants]
    pairs = {pair.key: pair for pair in ledger.pairs}
    seen = set()
    for each in ledger.fixtures.values():
        key = each.round, each.board, each.number
        pair, slot = pairs.get(key), (key, each.leg, each.attempt)
        if pair is None:
            # The pairs of an entrant that has withdrawn are left out, played or not.
            if ledger.withdrawn and set(each.players) <= set(names):
                continue
            raise BadReport(f"the tournament has no pair {'.'.join(map(str, key))}")
        movers = [names[entrant] for entrant in pair.entrants]
        if list(each.players) != movers[:: 1 if each.leg == LEGS[0] else -1]:
            raise BadReport(f"match {each.match} is not between the players of its pair")
        if each.game != pair.game and not ledger.spec.openings.fens:
            raise BadReport(f"match {each.match} is not of the game of its pair")
        if slot in seen:
            raise BadReport(f"match {each.match} was reported twice")
        seen.add(slot)
