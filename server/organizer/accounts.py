"""Accounts for the organizer and the entrants, in the database of the tournament's own server."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

from msgspec import structs

from server.core.accounts import Directory, digest
from server.model.names import skeleton
from server.model.records import Account
from server.storage import Database
from server.storage.engine import InUse

#: Seconds to wait until the server of a tournament that was killed releases the database.
_PATIENCE_S = 10.0


def prepare_accounts(url: str, organizer: str, entrants: Iterable[str]) -> dict[str, str]:
    """Give the organizer and the entrants accounts with new tokens; return the tokens by name.

    The database keeps only digests of them. An account whose name looks like one of these is
    renamed to it. Raises StorageError.
    """
    database = Database(url)
    try:
        _wait_until_unused(database)
        database.migrate()
        directory = Directory(database.accounts()[0])
        tokens = {}
        for name in (organizer, *entrants):
            tokens[name] = secrets.token_hex(16)
            database.put_account(
                _account(directory, name, tokens[name], administrator=name == organizer)
            )
        return tokens
    finally:
        database.close()


def organizer_name(entrants: Iterable[str]) -> str:
    """A name for the organizer that looks like none of the entrants' names."""
    taken = {skeleton(each) for each in entrants}
    name = "organizer"
    while skeleton(name) in taken:
        name = f"organizer {secrets.token_hex(4)}"
    return name


def _account(directory: Directory, name: str, token: str, *, administrator: bool) -> Account:
    if known := directory.like(name):
        return structs.replace(
            known, name=name, digest=digest(token), administrator=administrator, revoked=False
        )
    return Account(
        id=secrets.token_hex(8),
        name=name,
        digest=digest(token),
        created_at=time.time(),
        administrator=administrator,
    )


def _wait_until_unused(database: Database) -> None:
    """Lock the database, once no server uses it any more; it stays locked until it is closed.

    The server of a tournament that was just killed may take a moment. Raises StorageError.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            database.lock()
        except InUse as error:
            if time.monotonic() > until:
                text = f"{error}: stop it, or use another database: --database URL"
                raise InUse(text) from error
            time.sleep(0.1)
        else:
            return
