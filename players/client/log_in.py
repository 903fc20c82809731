"""`playout-player log-in`: exchanges a password, or a code of the page, for a stored token."""

from __future__ import annotations

import sys

import click
from platformdirs import user_data_path

from playout.commands.connect_options import ServerAddress, server_options
from playout.commands.identity import TokenError, TokenFile, software
from playout.protocol.endpoints import is_loopback
from playout.protocol.messages import LoggedIn, LogIn

#: Seconds to reach the server and to get its answer.
_PATIENCE_S = 15.0
_LONGEST = 200


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
        request = LogIn(id="log_in", name=name, secret=secret, software=program)
        answer = server.ask(request, patience_s=_PATIENCE_S)
        assert isinstance(answer, LoggedIn)
        file.keep(f"{server.host}:{server.port}", name, answer.token)
    except TokenError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is logged in at {server}; the token is in {file.path}.")
