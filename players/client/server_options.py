"""Options of commands that connect to a server: where it is, and as whom to play."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from platformdirs import user_data_path

from players.client import tokens
from server.client.tls import tls_options

F = TypeVar("F", bound=Callable[..., Any])


def server_options(command: F) -> F:
    """Add `--host`, `--port` and the options of TLS."""
    host = click.option(
        "--host",
        default="127.0.0.1",
        envvar="PLAYOUT_HOST",
        show_default=True,
        show_envvar=True,
        help="Host of the server.",
    )
    port = click.option(
        "--port",
        default=4242,
        envvar="PLAYOUT_PORT",
        show_default=True,
        show_envvar=True,
        type=click.IntRange(1, 65535),
        help="Port of the server.",
    )
    return host(port(tls_options(command)))


def account_options(command: F) -> F:
    """Add `--name`, `--guest` and `--token-file`."""
    name = click.option(
        "--name",
        envvar="PLAYOUT_NAME",
        show_envvar=True,
        help="Your account; a new name is registered.  [default: a guest with a random name]",
    )
    guest = click.option("--guest", is_flag=True, help="Use --name without an account.")
    token_file = click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with the token of the account.  [default: PLAYOUT_TOKEN, or the stored token]",
    )
    return name(guest(token_file(command)))


def require_account(name: str | None, guest: bool, options: list[str]) -> None:
    """Raises UsageError if a guest uses one of these options."""
    if options and (guest or name is None):
        raise click.UsageError(f"{options[0]} needs an account: --name NAME, without --guest")


def account_of(name: str, server: tuple[str, int], token_file: Path | None) -> tokens.SavedAccount:
    """Return the account to play as, with its token. Raises ClickException."""
    host, port = server
    file = tokens.TokenFile(user_data_path("playout"), _warn)
    try:
        given = tokens.given(token_file, os.environ.get("PLAYOUT_TOKEN"), _warn)
        account = tokens.SavedAccount(file, f"{host}:{port}", name, given)
        account.token()  # so that errors show before the player connects
    except tokens.TokenError as error:
        raise click.ClickException(str(error)) from error
    return account


def _warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)
