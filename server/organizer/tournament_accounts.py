"""The accounts of the organizer and the entrants, and the organizer's login.

A local server of a tournament gets accounts with new tokens in its database; for a server that runs
elsewhere, the tokens are in the environment.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable

import click
from msgspec import structs

from playout.commands.identity import hello, software
from playout.protocol.messages import Code, Error, Hello
from playout.protocol.names import skeleton
from playout.server.core.accounts import Directory, digest
from playout.server.model.records import Account
from playout.server.storage import Database
from playout.server.storage.engine import InUse

#: Refusals after which the same request may succeed later.
TEMPORARY = (Code.TOO_MANY, Code.RATE_LIMITED, Code.CLOSING, Code.TIMEOUT)


def organizer_hello(name: str, token: str) -> Hello:
    """Return the `hello` of the organizer, which plays no matches itself."""
    return hello(name, "spectator", software("playout-tournament"), token)


def organizers_token(name: str) -> str:
    """Return the token of the organizer's account, from the environment. Raises UsageError."""
    token = os.environ.get("PLAYOUT_TOKEN")
    if not token:
        raise click.UsageError(f"with --server, PLAYOUT_TOKEN must hold the token of {name}")
    return token


def refusal(error: Error) -> str:
    """Return what to tell the user when the server has refused the organizer's `hello`."""
    return f"the server does not let the organizer in: {error.text}"


#: Seconds to wait until the server of a killed tournament releases the database.
_PATIENCE_S = 10.0


def prepare_accounts(url: str, organizer: str, entrants: Iterable[str]) -> dict[str, str]:
    """Give the organizer and the entrants accounts with new tokens; return the tokens by name.

    The database has only digests of them. An account whose name looks like one of these is renamed
    to it. Raises StorageError.
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
    """Return a name for the organizer that looks like none of the entrants' names."""
    taken = {skeleton(each) for each in entrants}
    name = "organizer"
    while skeleton(name) in taken:
        name = f"organizer {secrets.token_hex(4)}"
    return name


def _account(directory: Directory, name: str, token: str, *, administrator: bool) -> Account:
    if known := directory.like(name):
        return structs.replace(
            known,
            name=name,
            digest=digest(token),
            token_at=time.time(),
            renewal="",
            administrator=administrator,
            revoked=False,
        )
    return Account(
        id=secrets.token_hex(8),
        name=name,
        digest=digest(token),
        created_at=time.time(),
        administrator=administrator,
    )


def _wait_until_unused(database: Database) -> None:
    """Wait until no server uses the database, and lock it until it is closed.

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
