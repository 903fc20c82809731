"""`playout-server accounts`: who is registered, and changes to that. A running server sees them."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

import click
from msgspec import structs
from rich.console import Console
from rich.table import Table

from server.cli.database import opened
from server.cli.options import its_database_option
from server.core.accounts import Directory, digest
from server.model.names import BadName, normalised
from server.model.records import Account
from server.storage import Database

EPILOG = """
\b
Examples:
  playout-server accounts list
  playout-server accounts create Ada     prints the token that Ada needs
  playout-server accounts revoke Ada     the old token is void; prints a new one
  playout-server accounts revoke Ada --lock
                                         nobody can use the name any more
  playout-server accounts admin Ada      lets Ada end matches and send others away

A server that runs notices within a second or two.
"""


@click.group(epilog=EPILOG)
def accounts() -> None:
    """List, create and change accounts in a database."""


@accounts.command("list")
@its_database_option
def list_(database: str) -> None:
    """List the registered accounts."""
    with opened(database) as kept:
        known, _ = kept.accounts()
    table = Table("name", "registered", "is")
    for account in known:
        when = datetime.fromtimestamp(account.created_at, UTC)
        what = [w for w, is_so in _traits(account).items() if is_so]
        table.add_row(account.name, f"{when:%Y-%m-%d %H:%M}", ", ".join(what))
    Console().print(table)
    click.echo(f"{len(known)} accounts")


@accounts.command()
@its_database_option
@click.argument("name")
def create(database: str, name: str) -> None:
    """Register NAME, and print its token, which is not shown again."""
    token = secrets.token_hex(16)
    with opened(database) as kept:
        account = Account(
            id=secrets.token_hex(8), name=_name(name), digest=digest(token), created_at=time.time()
        )
        _put(kept, account)
    _show_token(account, token)


@accounts.command()
@its_database_option
@click.argument("name")
@click.argument("new_name")
def rename(database: str, name: str, new_name: str) -> None:
    """Give NAME the NEW_NAME. Its token stays, and matches keep the old name."""
    with opened(database) as kept:
        account = _find(kept, name)
        renamed = structs.replace(account, name=_name(new_name))
        _put(kept, renamed)
    click.echo(f"{account.name} is called {renamed.name} now")


@accounts.command()
@its_database_option
@click.argument("name")
@click.option("--lock", is_flag=True, help="Give no new token: nobody can use the account.")
def revoke(database: str, name: str, lock: bool) -> None:
    """Make the token of NAME void, end its sessions, and print a new one."""
    token = secrets.token_hex(16)
    with opened(database) as kept:
        account = structs.replace(_find(kept, name), digest=digest(token), revoked=lock)
        kept.put_account(account)
    if lock:
        click.echo(f"{account.name} is locked; revoke without --lock opens it again")
    else:
        _show_token(account, token)


@accounts.command()
@its_database_option
@click.argument("name")
@click.option("--no", "never", is_flag=True, help="Make it an ordinary account again.")
def admin(database: str, name: str, never: bool) -> None:
    """Let NAME end matches and send others away."""
    with opened(database) as kept:
        account = _find(kept, name)
        kept.put_account(structs.replace(account, administrator=not never))
    click.echo(f"{account.name} is {'no' if never else 'an'} administrator")


def _traits(account: Account) -> dict[str, bool]:
    return {"administrator": account.administrator, "locked": account.revoked}


def _directory(kept: Database) -> Directory:
    return Directory(kept.accounts()[0])


def _find(kept: Database, name: str) -> Account:
    account = _directory(kept).like(_name(name))
    if account is None:
        raise click.ClickException(f"there is no account called {name!r}; see: accounts list")
    return account


def _put(kept: Database, account: Account) -> None:
    """Store an account with a name that it did not have, if no other has one like it."""
    taken = _directory(kept).like(account.name)
    if taken and taken.id != account.id:
        raise click.ClickException(f"{taken.name!r} is registered, and looks like that name")
    kept.put_account(account)


def _name(text: str) -> str:
    try:
        return normalised(text)
    except BadName as error:
        raise click.ClickException(str(error)) from error


def _show_token(account: Account, token: str) -> None:
    click.echo(f"The token of {account.name}, which is not shown again:", err=True)
    click.echo(token)
