"""The standings of a competition: those of its ladder, for its teams and house bots."""

from __future__ import annotations

from contextlib import closing

import msgspec

from playout.protocol.names import skeleton
from playout.ratings.bradley_terry import AVERAGE, solve
from playout.server.ladder.standings import ladder_table
from playout.server.ladder.state import restore_ladder
from playout.server.storage import Database
from playout.server.storage.stored_ladders import stored_ladders
from playout.server.tournament.competition_file import Competition

#: The average rating of a ladder.
__all__ = ["AVERAGE", "Row", "standings"]


class Row(msgspec.Struct, frozen=True):
    """A version in the standings; `error` is half of the interval of 95 %, None without matches.

    `points` counts a tie as one half. A `retired` version was replaced by a later one.
    """

    name: str
    version: str
    rating: float
    error: float | None
    matches: int
    points: float
    unplayed: int
    retired: bool
    house: bool


def standings(url: str, competition: Competition, since: float) -> list[Row]:
    """Return the standings from the stored matches, the best first. Raises StorageError.

    `url` is that of the server's database; matches before `since`, as in `stored_ladders`, count
    all the same, because ratings need them.
    """
    with closing(Database(url)) as database:
        names = {each.id: each.name for each in database.accounts()[0]}
        found = [each for each in stored_ladders(database, since) if each.game == competition.game]
    if not found:
        return []
    ladder = restore_ladder(found[0])
    if problem := ladder.problem():
        ladder.rated(solve(problem))
    table = ladder_table(ladder, lambda account: names.get(account, account), (), clock="")
    house = {skeleton(each.name) for each in competition.house}
    return [
        Row(
            name=each.name,
            version=each.version,
            rating=each.rating,
            error=each.error,
            matches=each.matches,
            points=each.won + each.tied / 2,
            unplayed=each.unplayed,
            retired=each.retired,
            house=skeleton(each.name) in house,
        )
        for each in table.standings
    ]
