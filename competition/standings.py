"""The standings of a competition, and the records of its teams, from the stored matches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import msgspec

from playout.ratings.bradley_terry import solve
from playout.ratings.plot import rating_plot
from playout.server.ladder.standings import LadderStanding, ladder_table
from playout.server.ladder.state import restore_ladder
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.results import MatchFilter, MatchRow
from playout.server.storage.stored_ladders import stored_ladders

#: The last matches in a record, in an overview, and those of the game among which it finds them.
_LAST_MATCHES, _SHOWN, _READ = 20, 10, 50


class CompetitionOverview(msgspec.Struct, frozen=True):
    """The standings, the best first, and the last matches of those in it, the latest first."""

    standings: Sequence[LadderStanding] = ()
    matches: Sequence[MatchRow] = ()


class Record(msgspec.Struct, frozen=True):
    """The last matches of a team, the latest first, and its ratings over time as SVG."""

    matches: Sequence[MatchRow] = ()
    plot: str = ""


def standings(url: str, game: str) -> Sequence[LadderStanding]:
    """Return the standings of a game's ladder, the best first. Raises StorageError.

    `url` is that of the server's database. Nothing is known of who is connected.
    """
    with closing(Database(url)) as database:
        names = {each.id: each.name for each in database.accounts()[0]}
        found = [each for each in stored_ladders(database, 0.0) if each.game == game]
    if not found:
        return ()
    ladder = restore_ladder(found[0])
    if problem := ladder.problem():
        ladder.rated(solve(problem))
    return ladder_table(ladder, lambda account: names.get(account, account), (), clock="").standings


def overview(url: str, game: str) -> CompetitionOverview:
    """Return the overview of a game's ladder. Raises SQLAlchemyError, StorageError."""
    rows = standings(url, game)
    names = {each.name for each in rows}
    with closing(Reader(url)) as reader:
        latest = reader.matches(MatchFilter(game=game), per_page=_READ).items
    matches = [each for each in latest if names.issuperset(each.players)]
    return CompetitionOverview(rows, matches[:_SHOWN])


def record(url: str, game: str, team: str) -> Record:
    """Return the record of a team. Raises SQLAlchemyError, StorageError."""
    with closing(Reader(url)) as reader:
        history = reader.ladder_history(game, team)
        chosen = reader.matches(MatchFilter(game=game, player=team), per_page=_LAST_MATCHES)
    return Record(chosen.items, str(rating_plot(history.values())))
