"""Storage: the only package that speaks SQL.

`schema` declares the tables and `migrations` how they changed; `versions` tells which version a
database has. `database` reads and writes records, over an `engine`, with `rows` and `statements`.
`queries` reads what pages show. A server has a `client`, which sends records to a `worker`, a
process in which a `writer` stores them; `ipc` declares the messages between the two.
"""

from playout.server.storage.database import Database
from playout.server.storage.engine import StorageError

__all__ = ["Database", "StorageError"]
