"""The standings of a competition, and the records of its teams, from the stored matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from math import hypot
from operator import attrgetter
from statistics import mean
from typing import NamedTuple

import msgspec
from twisted.logger import Logger

from playout import games as hosted
from playout.games import Position
from playout.protocol.messages import Board, PositionView
from playout.ratings.bradley_terry import solve
from playout.ratings.plot import rating_plot
from playout.server.core.accounts import DAY_S
from playout.server.core.view import board_of, position_view_of
from playout.server.ladder.standings import LadderStanding, ladder_table
from playout.server.ladder.state import restore_ladder
from playout.server.storage import Database
from playout.server.storage.queries import TREND_PARTS, Reader
from playout.server.storage.results import MatchFilter, MatchRow
from playout.server.storage.stored_ladders import stored_ladders

#: The last matches in a record, in an overview, and those of a game among which it finds them.
_LAST_MATCHES, _SHOWN, _READ = 20, 10, 50
#: The time of a trend.
_TREND_S = 7 * DAY_S

_log = Logger(namespace="server")


class OverallStanding(msgspec.Struct, frozen=True):
    """A version on the ladders of all games: the mean of its ratings, and sums.

    `error` is half of the 95 % interval of the mean, None before it has played each game.
    `day_ago` is the rating that the name had a day ago, None if it was not on each ladder. `trend`
    has its ratings of the last week at equal distances, the latest last, since it is on each one.
    """

    name: str
    version: str
    rating: float
    error: float | None
    retired: bool
    matches: int
    points: float
    day_ago: float | None = None
    trend: tuple[float, ...] = ()


class ShownPosition(msgspec.Struct, frozen=True):
    """A position as pages draw it: the last one of a match, or the first of a game."""

    board: Board
    view: PositionView
    match: MatchRow | None = None


class CompetitionOverview(msgspec.Struct, frozen=True):
    """The standings, the best first, and the last matches of those in it, the latest first.

    `games` has the standings in each game, `shown` the last position of the last match.
    """

    standings: Sequence[OverallStanding] = ()
    games: Mapping[str, Sequence[OverallStanding]] = {}
    matches: Sequence[MatchRow] = ()
    shown: ShownPosition | None = None


class Record(msgspec.Struct, frozen=True):
    """The last matches of a team, the latest first, and its ratings over time as SVG, by game."""

    matches: Sequence[MatchRow] = ()
    plots: Mapping[str, str] = {}


def standings(url: str, games: Sequence[str]) -> Mapping[str, Sequence[LadderStanding]]:
    """Return the standings of the games' ladders, the best first. Raises StorageError.

    `url` is that of the server's database. Nothing is known of who is connected.
    """
    with closing(Database(url)) as database:
        names = {each.id: each.name for each in database.accounts()[0]}
        stored = {each.game: each for each in stored_ladders(database, 0.0)}
    found: dict[str, Sequence[LadderStanding]] = dict.fromkeys(games, ())
    for game in stored.keys() & found.keys():
        ladder = restore_ladder(stored[game])
        if problem := ladder.problem():
            ladder.rated(solve(problem))
        table = ladder_table(ladder, lambda account: names.get(account, account), (), clock="")
        found[game] = table.standings
    return found


def overall(games: Mapping[str, Sequence[LadderStanding]]) -> Sequence[OverallStanding]:
    """Return the standings over all games, ordered as a ladder is."""
    rows = defaultdict(list)
    for each in games.values():
        for one in each:
            rows[one.name, one.version].append(one)
    found = [_standing(each, len(games)) for each in rows.values()]
    return sorted(found, key=lambda each: (each.error is None, (each.error or 0) - each.rating))


def _standing(rows: Sequence[LadderStanding], games: int) -> OverallStanding:
    errors = [each.error for each in rows if each.error is not None]
    return OverallStanding(
        rows[0].name,
        rows[0].version,
        round(mean(each.rating for each in rows), 1),
        round(hypot(*errors) / games, 1) if len(errors) == games else None,
        all(each.retired for each in rows),
        sum(each.matches for each in rows),
        sum(each.won + each.tied / 2 for each in rows),
    )


def overview(url: str, games: Sequence[str], now: float) -> CompetitionOverview:
    """Return the overview of the games' ladders at a time. Raises SQLAlchemyError, StorageError."""
    found = standings(url, games)
    names = {each.name for rows in found.values() for each in rows}
    with closing(Reader(url)) as reader:
        latest = [
            each
            for game in games
            for each in reader.matches(MatchFilter(game=game), per_page=_READ).items
            if names.issuperset(each.players)
        ]
        matches = _latest(latest)[:_SHOWN]
        shown = _shown(reader, matches[0] if matches else None, games[0])
        past = {
            game: _Past(
                reader.ladder_ratings_at(game, now - DAY_S),
                reader.ladder_trends(game, now - _TREND_S, now),
            )
            for game in games
        }
    by_game = {
        game: _with_past(overall({game: rows}), [past[game]]) for game, rows in found.items()
    }
    all_games = _with_past(overall(found), list(past.values()))
    return CompetitionOverview(all_games, by_game, matches, shown)


class _Past(NamedTuple):
    """Ratings on the ladder of a game by name: a day ago, and in the parts of the last week."""

    day_ago: Mapping[str, float]
    trends: Mapping[str, Mapping[int, float]]


def _with_past(rows: Iterable[OverallStanding], past: Sequence[_Past]) -> Sequence[OverallStanding]:
    """Return standings with the ratings that the names had before, given for each game."""

    def day_ago(name: str) -> float | None:
        known = [each.day_ago[name] for each in past if name in each.day_ago]
        return round(mean(known), 1) if len(known) == len(past) else None

    return [
        each
        if each.retired
        else msgspec.structs.replace(
            each,
            day_ago=day_ago(each.name),
            trend=_trend([ladder.trends.get(each.name, {}) for ladder in past]),
        )
        for each in rows
    ]


def _trend(ratings: Sequence[Mapping[int, float]]) -> tuple[float, ...]:
    """Return the means of ratings in several games, which hold until the next one."""
    found: list[float] = []
    last: list[float | None] = [None] * len(ratings)
    for part in range(TREND_PARTS + 1):
        last = [each.get(part, before) for each, before in zip(ratings, last, strict=True)]
        known = [each for each in last if each is not None]
        if known and len(known) == len(last):
            found.append(round(mean(known), 1))
    return tuple(found)


def _shown(reader: Reader, match: MatchRow | None, game: str) -> ShownPosition | None:
    """Return the last position of a match, without one the first position of a game."""
    stored = reader.match(match.match) if match else None
    moves = [each.action for each in stored.moves] if stored else []
    try:
        rules = hosted.load(match.game if match else game)
        return ShownPosition(board_of(rules), position_view_of(Position(rules, moves)), match)
    except Exception as error:  # a game of another package may raise anything
        _log.warn("the game {game} cannot be drawn: {error!r}", game=game, error=error)
        return None


def record(url: str, games: Sequence[str], team: str) -> Record:
    """Return the record of a team. Raises SQLAlchemyError, StorageError."""
    plots: dict[str, str] = {}
    matches: list[MatchRow] = []
    with closing(Reader(url)) as reader:
        for game in games:
            plots[game] = str(rating_plot(reader.ladder_history(game, team).values()))
            chosen = MatchFilter(game=game, player=team)
            matches += reader.matches(chosen, per_page=_LAST_MATCHES).items
    return Record(_latest(matches)[:_LAST_MATCHES], plots)


def _latest(matches: Iterable[MatchRow]) -> Sequence[MatchRow]:
    """Return matches in order, the latest first."""
    return sorted(matches, key=attrgetter("started_at"), reverse=True)
