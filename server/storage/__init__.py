"""What is kept: the only place that speaks SQL.

`schema` says what the tables are, `migrations` how they came to be so, `database` reads and writes
them, `writer` does the writing in a thread of its own.
"""

from server.storage.database import Database, StorageError
from server.storage.writer import Writer

__all__ = ["Database", "StorageError", "Writer"]
