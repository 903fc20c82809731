"""The standings of a competition: those of its ladder, from the stored matches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from playout.ratings.bradley_terry import solve
from playout.server.ladder.standings import LadderStanding, ladder_table
from playout.server.ladder.state import restore_ladder
from playout.server.storage import Database
from playout.server.storage.stored_ladders import stored_ladders


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
