"""Storage: the only package that speaks SQL.

`schema` declares the tables, and `migrations` create and upgrade them. `database` reads and writes
records, over an `engine`, with `statements`. `queries` reads for pages, also tournaments of a
second database; `results` has the rows of its lists and their filters. `stored_ladders` reads the
results of ladders, and `rating_keeper` computes ratings.

A running server has a `client`, which sends records to the `storage_process`; `ipc` declares the
messages between the two.
"""

from playout.server.storage.database import Database
from playout.server.storage.engine import StorageError

__all__ = ["Database", "StorageError"]
