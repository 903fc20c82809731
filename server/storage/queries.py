"""Queries for pages: lists of matches, players and tournaments, and stored ratings.

They block, so they are not for the reactor. They do not write.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec import DecodeError, structs
from sqlalchemy.exc import SQLAlchemyError

from playout.games import SpecError
from playout.protocol.analyst import Puzzle, attempt
from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.ratings.leaderboard import (
    ALL_CLOCKS,
    EloRatings,
    Leaderboard,
    NotedRating,
    OverallEntry,
    RatingPoint,
    over_games,
    reported_by,
    reporter_of,
)
from playout.server.model.records import (
    Account,
    MatchStarted,
    StoredMatch,
    StoredTournament,
    converted,
)
from playout.server.storage.database import (
    Database,
    ReadAnalysis,
    count_of,
    match_end_of,
    tournament_of,
    whole_analysis,
)
from playout.server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    PlayerGames,
    PlayerRow,
    PlayerTotals,
    PuzzleRatings,
    PuzzleRow,
    ResultPage,
    TournamentRow,
    match_branches,
    match_count,
    match_page,
    match_row,
    result_page,
)
from playout.server.storage.schema import (
    accounts,
    identity,
    ladder_ratings,
    leaderboards,
    matches,
    moves,
    player_totals,
    puzzle_attempts,
    puzzles,
    rating_points,
    record_of,
    tournaments,
    withdrawals,
)
from playout.server.tournament import formats
from playout.server.tournament.ledger import StoredGame, parse_slot

_decode_leaderboard = msgspec.json.Decoder(Leaderboard).decode
_decode_puzzle = msgspec.json.Decoder(Puzzle).decode


#: The time at which a match or tournament ended, and its id.
Place = tuple[float, str]


#: The parts of a time of which `Reader.ladder_trends` has ratings.
TREND_PARTS = 20


class EndedRound(msgspec.Struct, frozen=True):
    """A round of a tournament that has ended: its number from 1, and when."""

    tournament: str
    name: str
    round: int
    ended_at: float

    @property
    def identity(self) -> str:
        """A text that no other round has, in the order of the rounds of a tournament."""
        return f"{self.tournament}.{self.round:06d}"

    @property
    def place(self) -> Place:
        """Its place among the ended rounds."""
        return self.ended_at, self.identity


_place = attrgetter("place")


@functools.lru_cache(32)
def _has_rounds(spec: str) -> bool:
    """Return whether the rounds of a stored tournament follow from each other."""
    try:
        return formats.find(loads(spec).format).shows_rounds
    except (SpecError, DecodeError):  # of an earlier or a later version
        return False


def _ended_rounds(
    connection: sa.Connection, tournament: str, ended_at: float | None, since: float
) -> Iterator[tuple[int, float]]:
    """Yield the rounds of a tournament that ended since a time, and some before, with the times."""
    m = matches.c
    begun = sa.select(m.fixture, m.started_at).where(m.tournament == tournament)
    order = m.started_at, m.id
    begins: dict[int, float] = {}
    recent = begun.where(m.started_at >= since).order_by(*order)
    for fixture, at in connection.execute(recent).all():
        begins.setdefault(parse_slot(fixture).key[0], at)
    for number, at in begins.items():
        earlier = begun.where(m.fixture.like(f"{number}.%"), m.started_at < at)
        if number > 1 and connection.execute(earlier.limit(1)).first() is None:
            yield number - 1, at
    last = connection.execute(begun.order_by(*(each.desc() for each in order)).limit(1)).first()
    if last and ended_at is not None:
        yield parse_slot(last.fixture).key[0], ended_at


class Reader:
    """Reads one database. Every method raises SQLAlchemyError when it fails."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. Raises StorageError."""
        self._database = Database(url, only_read=True)

    def connect(self) -> sa.Connection:
        """Return a new connection to read with; the caller closes it soon."""
        return self._database.connect()

    def close(self) -> None:
        """Close all connections to the database."""
        self._database.close()

    def is_local(self, tournament: str) -> bool:
        """Return whether a tournament is in a second database: never, as this reads one."""
        return False

    # Matches.

    def matches(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Return a page of the ended matches, the latest first."""
        with self._database.connect() as connection:
            account = _account_like(connection, chosen.player) if chosen.player else None
            branches = match_branches(chosen, account)
            total = sum(connection.scalars(match_count(each)).one() for each in branches)
            first = per_page * (page - 1)
            rows: Sequence[sa.Row[Any]] = ()
            if first < total:
                rows = connection.execute(match_page(branches, first, per_page)).all()
        return result_page([_match_row(row) for row in rows], page, per_page, total)

    def latest_matches(self, most: int) -> list[MatchRow]:
        """Return the matches that ended last, in a time that does not grow with their number."""
        latest = match_page(match_branches(ALL, None), 0, most)
        with self._database.connect() as connection:
            return [_match_row(row) for row in connection.execute(latest)]

    def ended_matches(self, after: Place, most: int) -> list[MatchRow]:
        """Return up to `most` of the matches that ended after a place, the first of them first."""
        m = matches.c
        plies = sa.select(sa.func.count()).where(moves.c.match == m.id).scalar_subquery()
        chosen = sa.select(matches, plies.label("plies")).where(_is_after(m, after))
        with self._database.connect() as connection:
            rows = connection.execute(chosen.order_by(m.ended_at, m.id).limit(most))
            return [_match_row(row) for row in rows]

    def games(self) -> list[str]:
        """Return the names of the games of all stored matches, sorted."""
        found: list[str] = []
        with self._database.connect() as connection:
            # A search in an index finds each, in a time that does not grow with the matches.
            while game := connection.scalars(_next_game(found[-1] if found else "")).one():
                found.append(game)
        return found

    def most_played(self) -> list[str]:
        """Return the names of the games of ended matches, the most frequent first."""
        t = player_totals.c
        ended = sa.func.sum(t.won + t.tied + t.lost)
        with self._database.connect() as connection:
            rows = connection.execute(sa.select(t.game, ended).group_by(t.game).order_by(t.game))
            counts = Counter[str]()
            for game, count in rows:
                counts[game.partition("(")[0]] += count
        return [name for name, _ in counts.most_common()]

    def latest_players(self, most: int) -> list[str]:
        """Return the names of the players that played last, except guests."""
        t = player_totals.c
        name = sa.func.coalesce(accounts.c.name, t.player)
        is_account = sa.and_(accounts.c.id == t.player, ~t.imported)
        chosen = sa.select(name).outerjoin_from(player_totals, accounts, is_account).group_by(name)
        with self._database.connect() as connection:
            return list(
                connection.scalars(chosen.order_by(sa.func.max(t.last_at).desc(), name).limit(most))
            )

    def match(
        self, match: str, read_analysis: ReadAnalysis | None = whole_analysis
    ) -> StoredMatch | None:
        """Return a match with its moves; None for an unknown id. See `Database.matches`."""
        return next(self._database.matches(match=match, read_analysis=read_analysis), None)

    # Players.

    def players(self, page: int = 1, per_page: int = 50) -> ResultPage[PlayerRow]:
        """Return a page of all accounts, those that played last first."""
        last = sa.func.coalesce
        ends = [
            sa.select(last(sa.func.max(matches.c.ended_at), 0.0))
            .where(column == accounts.c.id)
            .scalar_subquery()
            for column in (matches.c.first_account, matches.c.second_account)
        ]
        active = sa.case((ends[0] > ends[1], ends[0]), else_=ends[1])
        chosen = sa.select(accounts).order_by(active.desc(), accounts.c.name)
        with self._database.connect() as connection:
            total = count_of(connection, accounts)
            rows = connection.execute(_limited(chosen, page, per_page)).all()
            some = [record_of(Account, row) for row in rows]
            known = _totals(connection, some)
        return result_page(
            [_player_row(one, known.get(one.id, {})) for one in some], page, per_page, total
        )

    def player(self, name: str) -> PlayerGames | None:
        """Return the player with this name, or one that looks like it; None for guests."""
        with self._database.connect() as connection:
            account = _account_like(connection, name)
            known = _totals(connection, [account]) if account else _totals(connection, (), name)
        if account is None and not known:
            return None
        return PlayerGames(
            name=account.name if account else name,
            created_at=account.created_at if account else None,
            games={
                game: totals for each in known.values() for game, totals in sorted(each.items())
            },
        )

    # Tournaments.

    def tournaments(self, page: int = 1, per_page: int = 50) -> ResultPage[TournamentRow]:
        """Return a page of all tournaments, the latest first."""
        chosen = sa.select(
            tournaments, _ended_matches().label("matches"), _reporter().label("reporter")
        )
        chosen = chosen.order_by(tournaments.c.id.desc())
        with self._database.connect() as connection:
            total = count_of(connection, tournaments)
            rows = connection.execute(_limited(chosen, page, per_page)).all()
        return result_page([_tournament_row(row) for row in rows], page, per_page, total)

    def database_id(self) -> str:
        """Return the random id of the database, a UUID."""
        with self._database.connect() as connection:
            return str(connection.scalar(sa.select(identity.c.id)))

    def ended_rounds(self, after: Place, most: int | None = None) -> list[EndedRound]:
        """Return up to `most` rounds of tournaments that ended after a place, the first one first.

        Without `most`, all of them.
        They are those of formats in which a round follows from the results of the one before. It
        ends when a match of the next one begins, and the last one with its tournament.
        """
        t = tournaments.c
        current = sa.or_(t.ended_at.is_(None), t.ended_at >= after[0])
        chosen = sa.select(t.id, t.name, t.spec, t.ended_at).where(current)
        with self._database.connect() as connection:
            found = [
                EndedRound(row.id, row.name, number, at)
                for row in connection.execute(chosen).all()
                if _has_rounds(row.spec)
                for number, at in _ended_rounds(connection, row.id, row.ended_at, after[0])
            ]
        return sorted((each for each in found if each.place > after), key=_place)[:most]

    def ended_tournaments(self, after: Place, most: int) -> list[TournamentRow]:
        """Return up to `most` tournaments that ended after a place, the first of them first."""
        t = tournaments.c
        chosen = sa.select(
            tournaments, _ended_matches().label("matches"), _reporter().label("reporter")
        ).where(_is_after(t, after))
        with self._database.connect() as connection:
            rows = connection.execute(chosen.order_by(t.ended_at, t.id).limit(most))
            return [_tournament_row(row) for row in rows]

    def tournament(self, tournament: str) -> tuple[StoredTournament, list[StoredGame]] | None:
        """Return a tournament without its matches, and its games, from which its results follow.

        The games are oldest first. None without a tournament of this id.
        """
        with self._database.connect() as connection:
            its = tournaments.c.id == tournament
            row = connection.execute(sa.select(tournaments).where(its)).one_or_none()
            if row is None:
                return None
            withdrawn = connection.scalars(
                sa.select(withdrawals.c.entrant)
                .where(withdrawals.c.tournament == tournament)
                .order_by(withdrawals.c.number)
            ).all()
        return tournament_of(row, withdrawn), self.games_of(tournament)

    def reporter(self, tournament: str) -> str | None:
        """Return the name of the account that has reported a tournament, None for others."""
        chosen = sa.select(_reporter()).where(tournaments.c.id == tournament)
        with self._database.connect() as connection:
            return connection.scalar(chosen.select_from(tournaments))

    def games_of(self, tournament: str) -> list[StoredGame]:
        """Return the matches of a tournament, the oldest first."""
        actions = _actions().label("actions")
        chosen = sa.select(matches, actions).where(matches.c.tournament == tournament)
        with self._database.connect() as connection:
            rows = connection.execute(chosen.order_by(matches.c.id)).all()
        return [_stored_game(each) for each in rows]

    def reported_matches(self, tournament: str) -> tuple[int, bool]:
        """Return the number of the matches of a reported tournament, and whether it is whole."""
        count = sa.select(sa.func.count()).where(matches.c.tournament == tournament)
        whole = sa.select(tournaments.c.id).where(tournaments.c.id == tournament)
        with self._database.connect() as connection:
            return connection.scalar(count) or 0, connection.scalar(whole) is not None

    # Ratings.

    def ladder_history(self, game: str, player: str) -> dict[str, tuple[RatingPoint, ...]]:
        """Return the ratings of a player on a ladder over time, by version, the oldest first."""
        r = ladder_ratings.c
        chosen = (
            sa.select(r.version, r.at, r.rating, r.error, r.matches)
            .join(accounts, accounts.c.id == r.account)
            .where(r.game == game, accounts.c.skeleton == skeleton(player))
            .order_by(r.at, r.matches)
        )
        found: dict[str, list[RatingPoint]] = {}
        with self._database.connect() as connection:
            for row in connection.execute(chosen):
                point = RatingPoint(row.at, row.rating, row.error, row.matches)
                found.setdefault(row.version, []).append(point)
        return {version: tuple(points) for version, points in found.items()}

    def ladder_ratings_at(self, game: str, at: float) -> dict[str, float]:
        """Return the rating that each player of a ladder had at a time, by name."""
        r = ladder_ratings.c
        last = (
            sa.select(r.account, sa.func.max(r.at).label("at"))
            .where(r.game == game, r.at <= at)
            .group_by(r.account)
            .subquery()
        )
        chosen = (
            sa.select(accounts.c.name, r.rating)
            .join(last, (last.c.account == r.account) & (last.c.at == r.at))
            .join(accounts, accounts.c.id == r.account)
            .where(r.game == game)
            .order_by(r.matches)
        )
        with self._database.connect() as connection:
            return {row.name: row.rating for row in connection.execute(chosen)}

    def ladder_trends(self, game: str, since: float, until: float) -> dict[str, dict[int, float]]:
        """Return the last rating in each part of a time that each player of a ladder had, by name.

        The time is cut into TREND_PARTS equal parts, which are numbered from 0.
        """
        r = ladder_ratings.c
        part = sa.cast((r.at - since) * TREND_PARTS / (until - since), sa.Integer).label("part")
        last = (
            sa.select(r.account, part, sa.func.max(r.at).label("at"))
            .where(r.game == game, r.at.between(since, until))
            .group_by(r.account, part)
            .subquery()
        )
        chosen = (
            sa.select(accounts.c.name, last.c.part, r.rating)
            .join(last, (last.c.account == r.account) & (last.c.at == r.at))
            .join(accounts, accounts.c.id == r.account)
            .where(r.game == game)
            .order_by(r.matches)
        )
        found: dict[str, dict[int, float]] = {}
        with self._database.connect() as connection:
            for row in connection.execute(chosen):
                found.setdefault(row.name, {})[row.part] = row.rating
        return found

    def rated_games(self) -> list[str]:
        """Return the names of the games that have rated or reported matches, sorted."""
        chosen = sa.select(leaderboards.c.game).where(leaderboards.c.rated > 0).distinct()
        with self._database.connect() as connection:
            return sorted(connection.scalars(chosen))

    def scales(self, game: str) -> dict[str, str | None]:
        """Return the scales on which a game has ratings, each with the name of its reporter."""
        its, names = leaderboards.c, accounts.c.name
        chosen = sa.select(its.scale).where(its.game == game, its.rated > 0).order_by(its.scale)
        with self._database.connect() as connection:
            return {
                scale: reporter and connection.scalar(sa.select(names).where(_has_id(reporter)))
                for scale in connection.scalars(chosen).all()
                for reporter in [reporter_of(scale)]
            }

    def leaderboard(self, game: str, scale: str = ALL_CLOCKS) -> Leaderboard:
        """Return the stored ratings of a game; without players if none are stored."""
        its = leaderboards.c
        chosen = sa.select(its.data).where(its.game == game, its.scale == scale)
        with self._database.connect() as connection:
            data = connection.scalar(chosen)
        return Leaderboard(game=game, scale=scale) if data is None else _decode_leaderboard(data)

    def reported_leaderboard(self, game: str, reporter: str) -> Leaderboard:
        """Return the ratings of the matches of a game that an account has reported."""
        with self._database.connect() as connection:
            account = _account_like(connection, reporter)
        return self.leaderboard(game, reported_by(account.id if account else ""))

    def over_games(self) -> list[OverallEntry]:
        """Return the players over all games with their usual parameters: see `over_games`."""
        its = leaderboards.c
        chosen = sa.select(its.data).where(
            its.scale == ALL_CLOCKS, its.rated > 0, its.game.not_like("%(%")
        )
        with self._database.connect() as connection:
            return over_games(map(_decode_leaderboard, connection.scalars(chosen)))

    def noted_ratings(self, game: str, player: str) -> dict[str, list[NotedRating]]:
        """Return the ratings of a player over time, by version, the oldest first."""
        r = rating_points.c
        chosen = sa.select(rating_points).where(r.game == game, r.name == player)
        found: dict[str, list[NotedRating]] = {}
        with self._database.connect() as connection:
            for row in connection.execute(chosen.order_by(r.version, r.matches)):
                point = RatingPoint(row.at, row.rating, row.error, row.matches)
                noted = NotedRating(point, (row.anchor, row.anchor_version))
                found.setdefault(row.version, []).append(noted)
        return found

    # Puzzles.

    def puzzle_counts(self) -> dict[str, int]:
        """Return the number of puzzles of each game that has some, by game."""
        counted = sa.select(puzzles.c.game, sa.func.count()).group_by(puzzles.c.game)
        with self._database.connect() as connection:
            rows = connection.execute(counted.order_by(puzzles.c.game)).all()
        return {row[0]: row[1] for row in rows}

    def puzzle(self, puzzle: str) -> Puzzle | None:
        """Return a puzzle, None if none has this id."""
        chosen = sa.select(puzzles.c.data).where(puzzles.c.id == puzzle)
        with self._database.connect() as connection:
            data = connection.scalar(chosen)
        return None if data is None else _decode_puzzle(data)

    def puzzle_of_day(self, day: str) -> Puzzle | None:
        """Return the puzzle of a day such as `2026-11-25`, None without puzzles.

        Further puzzles seldom change which one it is.
        """
        with self._database.connect() as connection:
            ids = list(connection.scalars(sa.select(puzzles.c.id)))
        chosen = min(ids, key=lambda each: sha256(f"{day} {each}".encode()).digest(), default="")
        return self.puzzle(chosen)

    def puzzle_ratings(self, game: str) -> PuzzleRatings:
        """Return the puzzles of a game and the people who tried them, rated by their attempts."""
        a = puzzle_attempts.c
        chosen = sa.select(puzzles.c.data).where(puzzles.c.game == game).order_by(puzzles.c.id)
        made = sa.select(a.puzzle, a.moves, accounts.c.skeleton).join_from(
            puzzle_attempts, puzzles, a.puzzle == puzzles.c.id
        )
        made = made.join(accounts, a.account == accounts.c.id).where(puzzles.c.game == game)
        with self._database.connect() as connection:
            found = {each.id: each for each in map(_decode_puzzle, connection.scalars(chosen))}
            attempts = connection.execute(made.order_by(a.at, a.puzzle, a.account)).all()
        ratings, tried = EloRatings(), dict[str, set[str]]()
        for row in attempts:
            moves = [int(move) for move in row.moves.split(",") if move]
            is_solved = attempt(found[row.puzzle], moves).is_solved
            ratings.add(("solver", row.skeleton), row.puzzle, float(is_solved))
            tried.setdefault(row.skeleton, set()).add(row.puzzle)
        return PuzzleRatings(
            puzzles=tuple(
                PuzzleRow(
                    puzzle=each.id,
                    turns=each.turns,
                    rating=ratings.rating(each.id),
                    attempts=ratings.results(each.id),
                )
                for each in found.values()
            ),
            solvers={name: ratings.rating(("solver", name)) for name in tried},
            tried={name: frozenset(ids) for name, ids in tried.items()},
        )


# Players.


def _account_like(connection: sa.Connection, name: str) -> Account | None:
    chosen = sa.select(accounts).where(accounts.c.skeleton == skeleton(name))
    row = connection.execute(chosen).one_or_none()
    return record_of(Account, row) if row else None


#: The totals by player and game.
_Totals = dict[str, dict[str, PlayerTotals]]


def _totals(connection: sa.Connection, some: Iterable[Account], *names: str) -> _Totals:
    """Return the totals of accounts by their ids, and of names without an account by name."""
    ids = {account.id: account.id for account in some}
    named = {account.name: account.id for account in some} | {name: name for name in names}
    found: _Totals = {}
    t = player_totals.c
    for owners, imported in ((ids, False), (named, True)):
        chosen = sa.select(player_totals).where(t.player.in_(owners), t.imported == imported)
        for row in connection.execute(chosen):
            games = found.setdefault(owners[row.player], {})
            games[row.game] = _sum([games.get(row.game, PlayerTotals()), _totals_of(row)])
    return found


def _totals_of(row: sa.Row[Any]) -> PlayerTotals:
    matches_ = row.won + row.tied + row.lost
    return PlayerTotals(
        matches=matches_, won=row.won, tied=row.tied, lost=row.lost, last_at=row.last_at
    )


def _sum(some: Iterable[PlayerTotals]) -> PlayerTotals:
    each = list(some)
    return PlayerTotals(
        matches=sum(one.matches for one in each),
        won=sum(one.won for one in each),
        tied=sum(one.tied for one in each),
        lost=sum(one.lost for one in each),
        last_at=max((one.last_at for one in each if one.last_at is not None), default=None),
    )


# Statements.


def _next_game(after: str) -> sa.Select[str]:
    """Select the next game of any match in alphabetical order, or null."""
    return sa.select(sa.func.min(matches.c.game)).where(matches.c.game > after)


def _actions() -> sa.ScalarSelect[Any]:
    """Select the actions of a match as one text, which is read faster than a row for each."""
    played = (
        sa.select(moves.c.action)
        .where(moves.c.match == matches.c.id)
        .order_by(moves.c.ply)
        .correlate(matches)
        .subquery()
    )
    text = sa.func.aggregate_strings(sa.cast(played.c.action, sa.Text), " ")
    return sa.select(text).scalar_subquery()


def _ended_matches() -> sa.ScalarSelect[Any]:
    """Select the number of ended matches of a tournament."""
    return (
        sa.select(sa.func.count())
        .where(matches.c.tournament == tournaments.c.id, matches.c.ended_at.is_not(None))
        .scalar_subquery()
    )


def _reporter() -> sa.ScalarSelect[Any]:
    """Select the name of the account that has reported a tournament, if it was played elsewhere."""
    return (
        sa.select(accounts.c.name)
        .join(matches, matches.c.reporter == accounts.c.id)
        .where(matches.c.tournament == tournaments.c.id)
        .limit(1)
        .scalar_subquery()
    )


def _is_after(table: Any, place: Place) -> sa.ColumnElement[bool]:
    """Select what ended after a place; what ends at the same time is in the order of its id."""
    at, identity = place
    same = sa.and_(table.ended_at == at, table.id > identity)
    return sa.and_(table.ended_at >= at, sa.or_(table.ended_at > at, same))


def _limited(chosen: sa.Select[Any], page: int, per_page: int) -> sa.Select[Any]:
    return chosen.offset(per_page * (page - 1)).limit(per_page)


# Values from rows.


def _match_row(row: sa.Row[Any]) -> MatchRow:
    return match_row(record_of(MatchStarted, row), row.plies, match_end_of(row))


def _has_id(account: str) -> sa.ColumnElement[bool]:
    return accounts.c.id == account


def _player_row(account: Account, known: dict[str, PlayerTotals]) -> PlayerRow:
    return PlayerRow(name=account.name, created_at=account.created_at, totals=_sum(known.values()))


def _tournament_row(row: sa.Row[Any]) -> TournamentRow:
    """Return a row of the list; format, games and entrants are empty if it cannot be read."""
    try:
        spec = loads(row.spec)
    except DecodeError:
        spec = TournamentSpec(row.name, games=(), format="", entrants=())
    return converted(
        TournamentRow,
        row,
        tournament=row.id,
        format=spec.format,
        games=spec.games,
        entrants=tuple(each.name for each in spec.entrants),
        starts_at=max(row.started_at, spec.starts_at),
    )


def _stored_game(row: sa.Row[Any]) -> StoredGame:
    return StoredGame(
        started=record_of(MatchStarted, row),
        ended=match_end_of(row),
        actions=tuple(map(int, (row.actions or "").split())),
    )


T = TypeVar("T")


class LocalReader(Reader):
    """Reads a server's database, and the tournaments of `playout-tournament` beside it.

    These are in a second database, because one server at a time writes a database. Its tournaments
    are shown, and do not count for the server's players and ratings. A second database that is
    missing or of another version is ignored.
    """

    def __init__(self, url: str, second: str) -> None:
        """`second`: the URL of the second database. Raises StorageError."""
        super().__init__(url)
        self._local = Reader(second)

    def close(self) -> None:
        """Close all connections to both databases."""
        super().close()
        self._local.close()

    def is_local(self, tournament: str) -> bool:
        """Return whether a tournament is in the second database only."""
        known = sa.select(tournaments.c.id).where(tournaments.c.id == tournament)
        with self._database.connect() as connection:
            return connection.execute(known).first() is None

    def matches(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Return a page of the ended matches; those of a tournament from either database."""
        found = super().matches(chosen, page, per_page)
        if found.total or chosen.tournament is None:
            return found
        local = self._attempt(lambda reader: reader.matches(chosen, page, per_page), found)
        rows = tuple(structs.replace(each, linked=(False, False)) for each in local.items)
        return structs.replace(local, items=rows)

    def match(
        self, match: str, read_analysis: ReadAnalysis | None = whole_analysis
    ) -> StoredMatch | None:
        """Return a match; one of the second database has no accounts, and is not rated."""
        found = super().match(match, read_analysis)
        if found:
            return found
        local = self._attempt(lambda reader: reader.match(match, read_analysis), None)
        if local is None:
            return None
        started = structs.replace(
            local.started, first_account=None, second_account=None, rated=False
        )
        return structs.replace(local, started=started)

    def tournaments(self, page: int = 1, per_page: int = 50) -> ResultPage[TournamentRow]:
        """Return a page of the tournaments in both databases, the latest first."""
        wanted = page * per_page
        own, nothing = super().tournaments(1, wanted), ResultPage[TournamentRow]()
        local = self._attempt(lambda reader: reader.tournaments(1, wanted), nothing)
        rows = sorted((*own.items, *local.items), key=lambda row: row.tournament, reverse=True)
        return result_page(
            rows[wanted - per_page : wanted], page, per_page, own.total + local.total
        )

    def tournament(self, tournament: str) -> tuple[StoredTournament, list[StoredGame]] | None:
        """Return a stored tournament with its games; None if neither database has it."""
        found = super().tournament(tournament)
        return found or self._attempt(lambda reader: reader.tournament(tournament), None)

    def _attempt(self, read: Callable[[Reader], T], nothing: T) -> T:
        """Read the second database; return `nothing` if that fails."""
        try:
            return read(self._local)
        except SQLAlchemyError:
            return nothing
