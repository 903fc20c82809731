"""Ratings of a database that no server uses."""

from __future__ import annotations

import contextlib

from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper


def keep_ratings(database: Database, keeper: RatingKeeper | None = None) -> None:
    """Store the ratings that follow from the matches, as a server does."""
    if keeper:
        for records in keeper.updates():
            database.save(records)
        return
    url = database.url.render_as_string(hide_password=False)
    with contextlib.closing(Reader(url)) as reader:
        keep_ratings(database, RatingKeeper(reader))
