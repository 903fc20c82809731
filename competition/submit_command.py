"""The command `playout-submit`: hands a bot in to a competition, and shows its stages."""

from __future__ import annotations

import base64
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import click

from playout.bots.packing import packed, packed_commit
from playout.commands.connect_options import (
    AccountChoice,
    ServerAddress,
    account_options,
    server_options,
)
from playout.commands.progress import doing
from playout.commands.text import printable
from playout.protocol.endpoints import is_loopback
from playout.server.tournament.competition_file import STAFF

#: Seconds in which the server must answer, and between two questions.
_ANSWER_S, _ASK_S = 60.0, 0.3

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

site_option = click.option(
    "--site",
    default="http://127.0.0.1:8081",
    envvar="PLAYOUT_SITE",
    show_default=True,
    show_envvar=True,
    metavar="URL",
    help="Address of the competitions of the server.",
)


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", metavar="FILE|FOLDER", type=click.Path(path_type=Path, exists=True))
@click.option("--competition", required=True, metavar="NAME", help="The competition.")
@click.option(
    "--commit",
    metavar="REVISION",
    help="Hand in the files that the folder has in this commit, branch or tag of git.",
)
@site_option
@click.option("--insecure", is_flag=True, help="Send the token over plain HTTP to another machine.")
@server_options
@account_options
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
    if account.name is None or account.guest:
        raise click.UsageError("handing in needs an account: --name NAME")
    _require_secret(site, insecure)
    saved = account.saved(server)
    token = saved.token() if saved else None
    if token is None:
        raise click.ClickException(
            f"no token of {account.name} on {server} is stored here: give it by PLAYOUT_TOKEN or "
            "--token-file FILE"
        )
    where = f"{site.rstrip('/')}/{quote(competition, safe='')}/submissions"
    client = Client(where, account.name, token)
    name, content = packed_commit(path, commit) if commit else packed(path)
    with doing("Handing in"):
        sent = client.put(name, content)
    click.echo(f"Submission {sent['id']}: {sent['file']}, {sent['size']:,} bytes")
    with doing("Waiting"):
        for line in client.followed(sent["id"]):
            click.echo(printable(line))
    last = client.last
    if last["state"] != "accepted":
        reason = printable(last["reason"])
        click.echo(f"{last['state'].capitalize()} at the stage {last['stage']}: {reason}")
        sys.exit(1)
    plays = "was tested, and plays nowhere" if last["team"] == STAFF else "plays on the ladder now"
    click.echo(f"Accepted as version {last['version']}: it {plays}.")


def _require_secret(site: str, insecure: bool) -> None:
    """Check that nobody can read the token on its way to a site. Raises UsageError."""
    parts = urlsplit(site)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.UsageError(f"--site: write an address such as https://play.example, not {site}")
    if parts.scheme == "http" and not (insecure or is_loopback(parts.hostname)):
        raise click.UsageError(
            f"--site: over plain HTTP, others could read the token on its way to {parts.hostname}; "
            "use https, or allow it by --insecure"
        )


class Client:
    """Asks the site as one account. Its methods raise ClickException."""

    def __init__(self, where: str, name: str, token: str) -> None:
        """`where` is the address of the submissions of a competition."""
        self.last: dict[str, Any] = {}
        self._where = where
        credentials = base64.b64encode(f"{name}:{token}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credentials}"}

    def put(self, name: str, content: bytes) -> dict[str, Any]:
        """Hand a file in; return the submission."""
        return self._ask(f"{self._where}/{quote(name, safe='')}", content)

    def followed(self, number: int) -> Iterator[str]:
        """Yield the lines of a submission's log, until it has ended; `last` is its last state."""
        shown = 0
        while True:
            self.last = self._ask(f"{self._where}/{number}")
            lines = self.last["log"].splitlines()
            yield from lines[shown:]
            shown = len(lines)
            if self.last["ended_at"] is not None:
                return
            time.sleep(_ASK_S)

    def _ask(self, url: str, content: bytes | None = None) -> dict[str, Any]:
        method = "GET" if content is None else "PUT"
        try:
            request = urllib.request.Request(url, content, self._headers, method=method)
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace").strip() or str(error)
            raise click.ClickException(text) from error
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise click.ClickException(f"{url} cannot be reached: {reason}") from error
        except ValueError as error:
            raise click.ClickException(f"{url} is no site of competitions: {error}") from error
