"""`playout-player log-in`: exchanges a password, or a code of the page, for a stored token."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click
from platformdirs import user_data_path

from playout.commands.connect_options import ServerAddress, server_options
from playout.commands.identity import TokenError, TokenFile, software
from playout.commands.text import plain
from playout.protocol.connection import ServerConnection
from playout.protocol.endpoints import is_loopback
from playout.protocol.messages import Error, Event, LoggedIn, LogIn

#: Seconds to reach the server and to get its answer.
_PATIENCE_S = 15.0
_LONGEST = 200


class _LogIn:
    """Sends one `log_in`; `token` is that of the answer, otherwise `fault` says what is wrong."""

    connection: ServerConnection

    def __init__(self, reactor: Any, request: LogIn) -> None:
        self.token = self.fault = ""
        self._reactor, self._request = reactor, request

    def connected(self) -> None:
        self.connection.send(self._request)

    def received(self, event: Event) -> None:
        if isinstance(event, LoggedIn):
            self.token = event.token
            self._end()
        elif isinstance(event, Error):
            self._end(event.text)

    def disconnected(self, reason: str) -> None:
        self._end(reason)

    def retrying(self, server: str, reason: str, patience_s: float) -> None:
        text = f"There is no server at {server}: {reason}. Trying again for {patience_s:.0f} s ..."
        click.echo(plain(text), err=True)

    def unreachable(self, reason: str) -> None:
        self._end(f"the server cannot be reached: {reason}")

    def unusable(self, reason: str) -> None:
        self._end(reason)

    def _end(self, fault: str = "") -> None:
        self.fault = plain(fault)
        self.connection.close()
        self._reactor.callLater(0.05, self._reactor.stop)


@click.command(
    "log-in",
    epilog="\b\nExamples:\n  playout-player log-in Ada\n"
    "  playout-player log-in Ada --host play.example --tls < password.txt",
)
@click.argument("name")
@server_options
def log_in(name: str, server: ServerAddress) -> None:
    """Log in as NAME with its password, or with a code that the page shows for another device.

    The secret is asked for, or read from the standard input. The token that the server sends for it
    is stored, so that --name NAME is enough from then on. The owner sees it among the devices on
    the page, and can end it there.
    """
    if not server.tls and not is_loopback(server.host):
        click.echo(f"Warning: without --tls, others can read what is sent to {server}", err=True)
    if sys.stdin.isatty():
        secret = click.prompt("Password or code", hide_input=True)
    else:
        secret = sys.stdin.readline().rstrip("\r\n")
    if not (1 <= len(secret) <= _LONGEST and 1 <= len(name) <= 32):
        raise click.UsageError(f"a password has 1 to {_LONGEST} characters, and a name 1 to 32")
    file = TokenFile(user_data_path("playout"), lambda text: click.echo(text, err=True))
    try:
        file.prepare()
        program = software("playout-player")
        token = _token(server, LogIn(id="log_in", name=name, secret=secret, software=program))
        file.keep(f"{server.host}:{server.port}", name, token)
    except TokenError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is logged in at {server}; the token is in {file.path}.")


def _token(server: ServerAddress, request: LogIn) -> str:
    """Return the token that a server sends for a password or a code. Raises ClickException."""
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    login = _LogIn(reactor, request)
    login.connection = server.connection(reactor, login, _PATIENCE_S)
    reactor.callWhenRunning(login.connection.open)
    reactor.run()
    if not login.token:
        raise click.ClickException(login.fault or "interrupted before the server has answered")
    return login.token
