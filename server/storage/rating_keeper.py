"""Updates the ratings of games as matches end, so that a page only reads them.

For each game, a `RatingBook` is in memory, with the matches of all scales. When a match of the
game ends that the stored ratings do not cover, the book is filled from all stored matches, and then
with each match that follows. After an import of older matches, or when an account was renamed, it
is filled again. The results are records, which the caller stores.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from playout.protocol.time_control import clock_class
from playout.ratings.leaderboard import (
    ALL_CLOCKS,
    Leaderboard,
    PlayerVersion,
    RatedGame,
    RatedMatch,
    RatingBook,
    TournamentVerdict,
    counted_game,
    due_entries,
    reported_by,
    reporter_of,
)
from playout.server.model.records import Record, StoredLeaderboard, StoredRatingPoint
from playout.server.storage.queries import Reader
from playout.server.storage.schema import (
    accounts,
    leaderboards,
    matches,
    rating_points,
)
from playout.server.tournament.ledger import UNREADABLE, Ledger, StoredGame, digest_of

#: Number of points in the history of matches that were stored together, such as imported ones: one
#: after each of this number of equal shares.
SHARES = 25
#: Minimum number of matches in a share, and number of matches that are read at a time otherwise.
_LEAST, _CHUNK = 10, 2000

_encode = msgspec.json.Encoder().encode


class _Covered(NamedTuple):
    """The matches on which ratings are based: their number, and the time of the last end."""

    ended: int
    last_at: float


class _EndedMatch(NamedTuple):
    """A match that has ended, and its rating if it is rated and has a result."""

    match: str
    at: float
    rated: RatedMatch | None


@dataclass
class _KeptGame:
    """The matches of a game that were read, and the points of histories that were stored."""

    book: RatingBook
    noted: dict[PlayerVersion, int]
    ended: int = 0
    last_at: float = -math.inf
    #: The ids of the matches that ended at `last_at`.
    latest: set[str] = field(default_factory=set)

    def note(self, match: _EndedMatch) -> None:
        """Count a match that was read."""
        self.ended += 1
        if match.at > self.last_at:
            self.last_at, self.latest = match.at, set()
        self.latest.add(match.match)


class RatingKeeper:
    """Updates the ratings in one database. Every method raises SQLAlchemyError when it fails."""

    def __init__(
        self,
        reader: Reader,
        stopping: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Long work ends soon, without a result, when `stopping` returns true."""
        self._reader = reader
        self._clock = clock
        self._stopping = stopping
        self._kept: dict[str, _KeptGame] = {}
        #: For games that are not in memory: the end of the last match that their ratings cover.
        self._covered: dict[str, float] = {}
        self._verdicts = _Verdicts(reader)

    def updates(self) -> Iterator[list[Record]]:
        """Yield the records to be stored for each game whose ratings have changed."""
        for game in self._reader.games():
            self._verdicts.forget_running()
            if records := self._update(game):
                yield records

    def _update(self, game: str) -> list[Record]:
        kept, stored, last_at = self._kept.get(game), self._stored(game), self._last_at(game)
        if last_at == -math.inf:  # the first match of the game is being played
            return []
        if stored and stored.ended < 0:  # an account was renamed
            return self._fill(game)
        if kept is None:
            return self._begin(game, stored, last_at)
        if last_at == kept.last_at:
            is_behind = self._is_ahead(last_at) and self._count(game, last_at) != kept.ended
            return self._fill(game) if is_behind else []
        new = [each for each in self._ended(game, kept.last_at) if each.match not in kept.latest]
        if not new or self._count(game, new[-1].at) != kept.ended + len(new):
            return self._fill(game)
        for tournament in self._add(kept, new):
            rows = self._ended(game, tournament=tournament)
            kept.book.replace(tournament, [game for _, game in self._counted(rows)])
        return self._records(kept)

    def _begin(self, game: str, stored: _Covered | None, last_at: float) -> list[Record]:
        """Take a game into memory, unless its stored ratings cover all ended matches."""
        if self._covered.get(game) == last_at and not self._is_ahead(last_at):
            return []
        if stored == _Covered(self._count(game, last_at), last_at):
            self._covered[game] = last_at
            return []
        return self._fill(game)

    def _fill(self, game: str) -> list[Record]:
        """Count all matches of a game; a first history gets its points meanwhile."""
        kept = _KeptGame(RatingBook(game), self._noted(game))
        first = not kept.noted
        size = max(_LEAST, self._count(game, math.inf) // SHARES) if first else _CHUNK
        records: list[Record] = []
        for some in _chunks(self._ended(game), size):
            if self._stopping():
                return []
            if first and kept.ended:
                records += _points(kept.book.leaderboard(), kept.noted)
            self._add(kept, some)
        self._kept[game] = kept
        return [*records, *self._records(kept)]

    def _add(self, kept: _KeptGame, new: Sequence[_EndedMatch]) -> set[str]:
        """Count matches; return their tournaments in which other matches may count now."""
        played: dict[str | None, list[RatedGame]] = defaultdict(list)
        for tournament, game in self._counted(new):
            played[tournament].append(game)
        for tournament, games_ in played.items():
            kept.book.add(games_, tournament)
        for each in new:
            kept.note(each)
        tournaments = {each.rated.tournament for each in new if each.rated}
        return {each for each in tournaments if each and self._verdicts.get(each)}

    def _counted(self, ended: Iterable[_EndedMatch]) -> Iterator[tuple[str | None, RatedGame]]:
        """Yield the matches that count, each with its tournament if it is stored."""
        for _, _, rated in ended:
            if rated is None:
                continue
            verdict = self._verdicts.get(rated.tournament) if rated.tournament else None
            if verdict is None and reporter_of(rated.scale) is not None:
                continue  # its tournament is not reported completely
            if game := counted_game(rated, verdict):
                yield (rated.tournament if verdict else None), game

    def _records(self, kept: _KeptGame) -> list[Record]:
        boards = list(kept.book.leaderboards())
        stored = (
            StoredLeaderboard(
                game=board.game,
                scale=board.scale,
                ended=kept.ended,
                last_at=kept.last_at,
                rated=board.matches,
                data=_encode(board).decode(),
            )
            for board in boards
        )
        return [*_points(boards[0], kept.noted), *stored]

    def _is_ahead(self, last_at: float) -> bool:
        """Return whether the clock was set back since: then matches end before the last one."""
        return last_at > self._clock()

    # Queries.

    def _last_at(self, game: str) -> float:
        chosen = sa.select(sa.func.max(_M.ended_at)).where(_M.game == game)
        with self._reader.connect() as connection:
            found = connection.scalar(chosen)
        return -math.inf if found is None else float(found)

    def _count(self, game: str, until: float) -> int:
        """Return the number of matches of a game that ended by that time."""
        chosen = sa.select(sa.func.count()).where(_M.game == game, _M.ended_at <= until)
        with self._reader.connect() as connection:
            return connection.scalar(chosen) or 0

    def _stored(self, game: str) -> _Covered | None:
        its = leaderboards.c
        chosen = sa.select(its.ended, its.last_at).where(its.game == game, its.scale == ALL_CLOCKS)
        with self._reader.connect() as connection:
            row = connection.execute(chosen).one_or_none()
        return _Covered(row.ended, row.last_at) if row else None

    def _noted(self, game: str) -> dict[PlayerVersion, int]:
        """Return the number of matches at the last point of each history."""
        r = rating_points.c
        chosen = sa.select(r.name, r.version, sa.func.max(r.matches).label("matches"))
        with self._reader.connect() as connection:
            rows = connection.execute(chosen.where(r.game == game).group_by(r.name, r.version))
            return {(row.name, row.version): row.matches for row in rows}

    def _ended(
        self, game: str, since: float = -math.inf, tournament: str | None = None
    ) -> Iterator[_EndedMatch]:
        """Yield the matches of a game that ended since that time, sorted by their end."""
        chosen = _ENDED.where(_M.game == game, _M.ended_at >= since)
        if tournament is not None:
            chosen = chosen.where(_M.tournament == tournament)
        with self._reader.connect() as connection:
            rows = connection.execution_options(yield_per=_CHUNK).execute(chosen)
            for row in rows:
                yield _EndedMatch(row.id, row.ended_at, _rated(row))


class _Verdicts:
    """Decides which matches of tournaments count; remembers it for tournaments that are over."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._over: dict[str, TournamentVerdict | None] = {}
        self._running: dict[str, TournamentVerdict | None] = {}
        #: The tournament in which an account has first reported a match, by `_identity`.
        self._reported: dict[tuple[str | None, ...], str] = {}

    def forget_running(self) -> None:
        """Forget tournaments that are not over, so that they are read again."""
        self._running = {}

    def get(self, tournament: str) -> TournamentVerdict | None:
        """Return the verdict on a tournament; None if only its matches are stored, not itself."""
        if tournament not in self._over and tournament not in self._running:
            self._find(tournament)
        return self._over.get(tournament) or self._running.get(tournament)

    def _find(self, tournament: str) -> None:
        stored = self._reader.tournament(tournament)
        if stored is None:
            self._running[tournament] = None
            return
        try:
            ledger = Ledger.restored(*stored)
        except UNREADABLE:
            self._running[tournament] = TournamentVerdict(set(), {})
            return
        versions = {each.name: each.version for each in ledger.spec.entrants}
        counted, its = ledger.counted_matches, stored[1]
        if its and its[0].started.reporter:
            first = {
                each.started.match: self._reported.setdefault(
                    _identity(each, ledger, versions), tournament
                )
                for each in its
            }
            counted = {match for match in counted if first[match] == tournament}
        found = self._over if ledger.over else self._running
        found[tournament] = TournamentVerdict(counted, versions)


def _identity(
    game: StoredGame, ledger: Ledger, versions: Mapping[str, str]
) -> tuple[str | None, ...]:
    """Return what is equal for reports of a match by an account: players, versions and moves."""
    started = game.started
    digest = digest_of(ledger.fixtures[started.match], game.actions)
    return started.reporter, *(versions.get(each) for each in started.players), digest


def _points(board: Leaderboard, noted: dict[PlayerVersion, int]) -> list[Record]:
    """Return the due points of histories, and note them."""
    points: list[Record] = []
    anchor, anchor_version = board.anchor or ("", "")
    for each in due_entries(board, noted):
        noted[each.name, each.version] = each.matches
        points.append(
            StoredRatingPoint(
                game=board.game,
                name=each.name,
                version=each.version,
                matches=each.matches,
                rating=each.rating,
                error=each.error,
                anchor=anchor,
                anchor_version=anchor_version,
                at=each.last_at,
            )
        )
    return points


def _rated(row: Any) -> RatedMatch | None:
    if not row.winner or not (row.rated or row.reporter):
        return None
    return RatedMatch(
        match=row.id,
        then=(row.first, row.second),
        now=(row.first_now, row.second_now),
        winner=row.winner,
        at=row.ended_at,
        tournament=row.tournament,
        versions=(row.version, row.other_version),
        scale=reported_by(row.reporter) if row.reporter else clock_class(row.clock),
    )


def _chunks(ended: Iterator[_EndedMatch], size: int) -> Iterator[list[_EndedMatch]]:
    while some := list(itertools.islice(ended, size)):
        yield some


_M = matches.c
_ONE, _OTHER = accounts.alias(), accounts.alias()
#: The matches that have ended, with the current names of their players.
_ENDED = (
    sa.select(
        _M.id,
        _M.first,
        _M.second,
        sa.func.coalesce(_ONE.c.name, _M.first).label("first_now"),
        sa.func.coalesce(_OTHER.c.name, _M.second).label("second_now"),
        _M.winner,
        _M.ended_at,
        _M.rated,
        _M.clock,
        _M.tournament,
        _M.reporter,
        sa.func.coalesce(_M.first_version, _M.first_bot, "").label("version"),
        sa.func.coalesce(_M.second_version, _M.second_bot, "").label("other_version"),
    )
    .outerjoin_from(matches, _ONE, _ONE.c.id == _M.first_account)
    .outerjoin(_OTHER, _OTHER.c.id == _M.second_account)
    .order_by(_M.ended_at, _M.id)
)
