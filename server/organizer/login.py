"""How the organizer logs in to a server."""

from __future__ import annotations

import os
from importlib.metadata import version

import click

from server.model.messages import PROTOCOL, Code, Error, Hello

HELLO = "hello"
#: Refusals after which the same request may succeed later.
TEMPORARY = (Code.TOO_MANY, Code.RATE_LIMITED, Code.CLOSING, Code.TIMEOUT)


def organizer_hello(name: str, token: str) -> Hello:
    """The first message of an organizer with that account: it plays no matches itself."""
    return Hello(
        id=HELLO,
        protocol_min=PROTOCOL,
        protocol_max=PROTOCOL,
        name=name,
        token=token,
        role="spectator",
        software=f"playout-tournament {version('playout')}",
    )


def organizers_token(name: str) -> str:
    """The token of the organizer's account, from the environment. Raises UsageError."""
    token = os.environ.get("PLAYOUT_TOKEN")
    if not token:
        raise click.UsageError(f"with --server, PLAYOUT_TOKEN must hold the token of {name}")
    return token


def refusal(error: Error) -> str:
    """What to tell the user when the server refused the organizer's `hello`."""
    return f"the server does not let the organizer in: {error.text}"
