"""The command `playout-submit`: hands a bot in to a competition, and shows its stages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from playout.bots.packing import packed, packed_commit
from playout.bots.site_client import SiteClient, of_site, sending_options
from playout.commands.connect_options import (
    AccountChoice,
    ServerAddress,
    own_account_options,
    server_options,
)
from playout.commands.progress import doing
from playout.commands.text import printable
from playout.server.tournament.competition_file import STAFF

#: The port of the competitions, what they are, and the variable with their address.
SITE = (8081, "competitions", "PLAYOUT_SITE")

EPILOG = """
\b
Examples:
  playout-submit my_bot.py --competition autumn --name Ada
  playout-submit my_bot/ --competition autumn --name Ada    a folder with bot.toml
  playout-submit . --commit main --competition autumn --name Ada   as it is in git
  playout-submit bot.zip --competition autumn --name Ada --site https://play.example

A folder is sent without hidden files, and without __pycache__ and node_modules. The token of the
account is the one that a player of this user has stored; otherwise give it by PLAYOUT_TOKEN or
--token-file. --host and --port say on which server.

\b
Exit codes: 0 accepted, 1 refused or failed, 2 bad usage, 130 interrupted:
the submission goes on without you.
"""


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", metavar="FILE|FOLDER", type=click.Path(path_type=Path, exists=True))
@click.option("--competition", required=True, metavar="NAME", help="The competition.")
@click.option(
    "--commit",
    metavar="REVISION",
    help="Hand in the files that the folder has in this commit, branch or tag of git.",
)
@sending_options(*SITE)
@server_options
@own_account_options
@click.version_option(version("playout"), prog_name="playout-submit")
def main(
    path: Path,
    competition: str,
    commit: str | None,
    site: str,
    insecure: bool,
    server: ServerAddress,
    account: AccountChoice,
) -> None:
    """Hand in a Python file or a folder, and wait until it is accepted or refused."""
    where = f"{site.rstrip('/')}/{quote(competition, safe='')}/submissions"
    client = Client.of(where, account, server, insecure=insecure)
    _hand_in(client, *(packed_commit(path, commit) if commit else packed(path)))


@of_site
def _hand_in(client: Client, name: str, content: bytes) -> None:
    """Hand a file in, and follow it. Raises ClickException, SystemExit."""
    with doing("Handing in"):
        sent = client.put(name, content)
    told = f"Submission {sent['id']}: {sent['file']}, {sent['size']:,} bytes"
    click.echo(printable(told))
    with doing("Waiting"):
        for line in client.followed(sent["id"]):
            click.echo(printable(line))
    last = client.last
    if last["state"] != "accepted":
        reason = printable(last["reason"])
        told = f"{last['state'].capitalize()} at the stage {last['stage']}"
        click.echo(printable(f"{told}: {reason}"))
        sys.exit(1)
    plays = "was tested, and plays nowhere" if last["team"] == STAFF else "plays on the ladder now"
    click.echo(printable(f"Accepted as version {last['version']}: it {plays}."))


class Client(SiteClient):
    """Asks as one account about the submissions of a competition, at their address."""

    #: The state of a submission after `followed`.
    last: dict[str, Any]

    def put(self, name: str, content: bytes) -> dict[str, Any]:
        """Hand a file in; return the submission."""
        return self.json(quote(name, safe=""), content)

    def followed(self, number: int) -> Iterator[str]:
        """Yield the lines of a submission's log, until it has ended; `last` is its last state."""
        shown = 0
        for told in self.states(str(number)):
            self.last = told
            lines = told["log"].splitlines()
            yield from lines[shown:]
            shown = len(lines)
