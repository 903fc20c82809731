"""The standings of a competition, and the records of its teams, from the stored matches."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from math import hypot
from operator import attrgetter
from statistics import mean

import msgspec

from playout.ratings.bradley_terry import solve
from playout.ratings.plot import rating_plot
from playout.server.ladder.standings import LadderStanding, ladder_table
from playout.server.ladder.state import restore_ladder
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.results import MatchFilter, MatchRow
from playout.server.storage.stored_ladders import stored_ladders

#: The last matches in a record, in an overview, and those of a game among which it finds them.
_LAST_MATCHES, _SHOWN, _READ = 20, 10, 50


class OverallStanding(msgspec.Struct, frozen=True):
    """A version on the ladders of all games: the mean of its ratings, and sums.

    `error` is half of the 95 % interval of the mean, None before it has played each game.
    """

    name: str
    version: str
    rating: float
    error: float | None
    retired: bool
    matches: int
    points: float


class CompetitionOverview(msgspec.Struct, frozen=True):
    """The standings, the best first, and the last matches of those in it, the latest first.

    `games` has the standings in each game.
    """

    standings: Sequence[OverallStanding] = ()
    games: Mapping[str, Sequence[OverallStanding]] = {}
    matches: Sequence[MatchRow] = ()


class Record(msgspec.Struct, frozen=True):
    """The last matches of a team, the latest first, and its ratings over time as HTML."""

    matches: Sequence[MatchRow] = ()
    plot: str = ""


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


def overview(url: str, games: Sequence[str]) -> CompetitionOverview:
    """Return the overview of the games' ladders. Raises SQLAlchemyError, StorageError."""
    found = standings(url, games)
    names = {each.name for rows in found.values() for each in rows}
    with closing(Reader(url)) as reader:
        latest = [
            each
            for game in games
            for each in reader.matches(MatchFilter(game=game), per_page=_READ).items
            if names.issuperset(each.players)
        ]
    by_game = {game: overall({game: rows}) for game, rows in found.items()}
    return CompetitionOverview(overall(found), by_game, _latest(latest)[:_SHOWN])


def record(url: str, games: Sequence[str], team: str) -> Record:
    """Return the record of a team. Raises SQLAlchemyError, StorageError."""
    plots: dict[str, str] = {}
    matches: list[MatchRow] = []
    with closing(Reader(url)) as reader:
        for game in games:
            plots[game] = str(rating_plot(reader.ladder_history(game, team).values()))
            chosen = MatchFilter(game=game, player=team)
            matches += reader.matches(chosen, per_page=_LAST_MATCHES).items
    if len(plots) > 1:
        plots = {game: f"<h3>{html.escape(game)}</h3>{plot}" for game, plot in plots.items()}
    return Record(_latest(matches)[:_LAST_MATCHES], "".join(plots.values()))


def _latest(matches: Iterable[MatchRow]) -> Sequence[MatchRow]:
    """Return matches in order, the latest first."""
    return sorted(matches, key=attrgetter("started_at"), reverse=True)
