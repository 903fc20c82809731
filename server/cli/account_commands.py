"""`playout-server accounts`: lists and changes accounts, also those of a running server."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

import click
from msgspec import structs
from rich.console import Console
from rich.table import Table

from playout.commands.options import OptionGroup
from playout.protocol.names import BadName, normalised
from playout.server.cli.database_commands import opened
from playout.server.cli.server_options import its_database_option
from playout.server.core.accounts import Directory, digest, without_secrets
from playout.server.model.records import Account
from playout.server.storage import Database

EPILOG = """
\b
Examples:
  playout-server accounts list
  playout-server accounts create Ada     prints the token that Ada needs
  playout-server accounts revoke Ada     makes the old token invalid; prints a new one
  playout-server accounts revoke Ada --lock
                                         locks the account: no token is valid
  playout-server accounts admin Ada      lets Ada end matches and kick sessions

A running server applies changes within two seconds.
"""


@click.group(cls=OptionGroup, epilog=EPILOG)
def accounts() -> None:
    """List, create and change accounts in a database."""


@accounts.command("list")
@its_database_option
def list_(database: str) -> None:
    """List all accounts, with the time of registration in UTC."""
    with opened(database) as stored:
        known, _ = stored.accounts()
    table = Table("name", "registered", "status")
    for account in known:
        when = datetime.fromtimestamp(account.created_at, UTC)
        status = [word for word, applies in _traits(account).items() if applies]
        table.add_row(account.name, f"{when:%Y-%m-%d %H:%M}", ", ".join(status))
    Console().print(table)
    click.echo(f"{len(known)} accounts")


@accounts.command()
@its_database_option
@click.argument("name")
def create(database: str, name: str) -> None:
    """Register NAME, and print its token, which is shown only once."""
    token = secrets.token_hex(16)
    with opened(database, create=True) as stored:
        account = Account(
            id=secrets.token_hex(8), name=_name(name), digest=digest(token), created_at=time.time()
        )
        _put(stored, account)
    _show_token(account, token)


@accounts.command()
@its_database_option
@click.argument("name")
@click.argument("new_name")
def rename(database: str, name: str, new_name: str) -> None:
    """Rename the account NAME to NEW_NAME.

    Its token stays valid, and stored matches keep the old name.
    """
    with opened(database) as stored:
        account = _find(stored, name)
        renamed = structs.replace(account, name=_name(new_name))
        _put(stored, renamed)
    click.echo(f"{account.name} was renamed to {renamed.name}")


@accounts.command()
@its_database_option
@click.argument("name")
@click.option("--lock", is_flag=True, help="Lock the account: create no new token.")
def revoke(database: str, name: str, lock: bool) -> None:
    """Make the token and the password of NAME invalid, log it out, and print a new token."""
    token = secrets.token_hex(16)
    with opened(database) as stored:
        account = structs.replace(_find(stored, name), revoked=lock)
        if not lock:
            account = without_secrets(account, digest(token), time.time())
        stored.put_account(account)
    if lock:
        click.echo(f"{account.name} is locked; to unlock it, revoke it without --lock")
    else:
        _show_token(account, token)


@accounts.command()
@its_database_option
@click.argument("name")
@click.option("--no", "never", is_flag=True, help="Make it an ordinary account again.")
def admin(database: str, name: str, never: bool) -> None:
    """Make NAME an administrator, who may end matches and kick sessions."""
    with opened(database) as stored:
        account = _find(stored, name)
        stored.put_account(structs.replace(account, administrator=not never))
    click.echo(f"{account.name} is {'not' if never else 'now'} an administrator")


def _traits(account: Account) -> dict[str, bool]:
    return {"administrator": account.administrator, "locked": account.revoked}


def _directory(stored: Database) -> Directory:
    return Directory(stored.accounts()[0])


def _find(stored: Database, name: str) -> Account:
    account = _directory(stored).like(_name(name))
    if account is None:
        raise click.ClickException(
            f"there is no account named {name!r}; see: playout-server accounts list"
        )
    return account


def _put(stored: Database, account: Account) -> None:
    """Store an account under a new name. Raises ClickException if a name looks like it."""
    taken = _directory(stored).like(account.name)
    if taken and taken.id != account.id:
        raise click.ClickException(
            f"{taken.name!r} is registered and looks like that name; choose another"
        )
    stored.put_account(account)


def _name(text: str) -> str:
    try:
        return normalised(text)
    except BadName as error:
        raise click.ClickException(str(error)) from error


def _show_token(account: Account, token: str) -> None:
    click.echo(f"The token of {account.name}, which is shown only once:", err=True)
    click.echo(token)
