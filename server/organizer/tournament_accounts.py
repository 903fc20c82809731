"""The accounts of the organizer and the entrants, and the organizer's login.

A local server of a tournament is given accounts with new tokens when it starts; for a server that
runs elsewhere, the tokens are in the environment.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable

import click

from playout.commands.identity import hello, software
from playout.protocol.messages import Code, Error, Hello
from playout.protocol.names import skeleton
from playout.server.core.accounts import GivenAccount, digest

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
    """Return the error for the user if the server has refused the organizer's `hello`."""
    return f"the server does not let the organizer in: {error.text}"


def new_tokens(
    administrator: str, names: Iterable[str]
) -> tuple[dict[str, str], list[GivenAccount]]:
    """Return tokens by name for an administrator and others, and the accounts for a server.

    The accounts have only digests of the tokens.
    """
    tokens = {name: secrets.token_hex(16) for name in (administrator, *names)}
    accounts = [
        GivenAccount(name, digest(token), name == administrator) for name, token in tokens.items()
    ]
    return tokens, accounts


def organizer_name(entrants: Iterable[str]) -> str:
    """Return a name for the organizer that looks like none of the entrants' names."""
    taken = {skeleton(each) for each in entrants}
    name = "organizer"
    while skeleton(name) in taken:
        name = f"organizer {secrets.token_hex(4)}"
    return name
