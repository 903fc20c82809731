"""What is kept: the only place that speaks SQL.

`schema` says what the tables are, `migrations` how they came to be so, `database` reads and writes
them, `reading` is what pages show of them. A server has a `keeper`, which gives records to a
`process` of its own in which a `writer` stores them; `dialogue` is what the two say.
"""

from server.storage.database import Database, StorageError

__all__ = ["Database", "StorageError"]
