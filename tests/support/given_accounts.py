"""Accounts in the database of a server that a test starts later."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from playout.server.core.accounts import Directory
from playout.server.organizer.local_server import new_tokens
from playout.server.storage import Database


def accounts_in(url: str, administrator: str, names: Iterable[str]) -> dict[str, str]:
    """Store an administrator and other accounts; return the tokens by name."""
    tokens, accounts = new_tokens(administrator, names)
    with closing(Database(url)) as database:
        database.migrate()
        for each in accounts:
            database.put_account(Directory().given(each, each.name, 0.0))
    return tokens
