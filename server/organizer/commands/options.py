"""What several commands are told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from platformdirs import user_data_path

from server.cli.options import host_and_port, http_address
from server.client.tls import tls_options
from server.organizer.local_server import HOST, is_free

F = TypeVar("F", bound=Callable[..., Any])

#: The server's own default.
_HTTP_PORT = 8080


class BadFile(click.ClickException):
    """A tournament's file with errors, which say themselves where they are."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """As they are."""
        click.echo(self.message, err=True)


def default_database() -> str:
    """Where tournaments are kept if nobody says otherwise: beside the server's."""
    return f"sqlite:///{user_data_path('playout') / 'tournaments.db'}"


def database_option(command: F) -> F:
    """`--database`."""
    return click.option(
        "--database",
        metavar="URL",
        default=default_database,
        help="Where tournaments are kept: sqlite:////path/file.db or "
        "postgresql+psycopg://user@host/db.  [default: tournaments.db in your data folder, "
        "beside the playout.db of a playout-server]",
    )(command)


def spec_argument(command: F) -> F:
    """`SPEC.toml`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.argument("file", metavar="SPEC.toml", type=kind)(command)


def elsewhere_options(command: F) -> F:
    """Which server, and as whom, if it is one that runs already."""
    for option in (
        tls_options,
        click.option(
            "--name",
            default="organizer",
            show_default=True,
            help="With --server: an account there, of an administrator; its token is in the "
            "environment as PLAYOUT_TOKEN.",
        ),
        click.option(
            "--server",
            metavar="HOST:PORT",
            callback=_address,
            help="On this server, which runs already, instead of one of its own or its database.",
        ),
    ):
        command = option(command)
    return command


def organizers_token(name: str) -> str:
    """The token of the account of that name. Raises UsageError."""
    token = os.environ.get("PLAYOUT_TOKEN")
    if not token:
        raise click.UsageError(f"with --server, PLAYOUT_TOKEN must hold the token of {name}")
    return token


def server_options(command: F) -> F:
    """Where it is played."""
    for option in reversed(
        (
            elsewhere_options,
            click.option(
                "--port",
                default=0,
                type=click.IntRange(0, 65535),
                help="Of its own server, for entrants that log in by themselves.  [default: any]",
            ),
            click.option(
                "--http",
                metavar="HOST:PORT",
                default=_usual_http,
                callback=http_address,
                help="Where its own server has the page to watch it, or none.  "
                f"[default: {HOST}:{_HTTP_PORT}, or another port if that is taken]",
            ),
            click.option(
                "--stay",
                is_flag=True,
                help="When it is over, leave its own server running, for the page, until Ctrl-C.",
            ),
        )
    ):
        command = option(command)
    return command


def _usual_http() -> str:
    return f"{HOST}:{_HTTP_PORT if is_free(HOST, _HTTP_PORT) else 0}"


def _address(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, int] | None:
    if text is None:
        return None
    address = host_and_port(text)
    if address is None or address[1] == 0:
        raise click.BadParameter(f"{text!r} is not HOST:PORT, as in play.example:4242")
    return address
