"""The commands of `playout-tournament`, and the options and arguments that several of them share.

run       the commands that play matches
read      those that play none
conclude  ends a tournament that will not be resumed
push      reports a finished tournament to a server
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

from playout.cluster import dask_option
from playout.commands.connect_options import ServerAddress, server_option
from playout.commands.options import F, combined, refuse
from playout.server.cli.server_options import http_address, tournaments_database
from playout.server.organizer.local_server import HOST, USUAL_HTTP

#: Add `--database` to a command.
database_option = click.option(
    "--database",
    metavar="URL",
    default=tournaments_database,
    help="The database of tournaments: sqlite:////path/file.db or "
    "postgresql+psycopg://user@host/db.  [default: tournaments.db in your data folder, "
    "beside the playout.db of a playout-server]",
)


#: Add the argument `SPEC.toml` to a command, as `file`.
spec_argument = click.argument(
    "file", metavar="SPEC.toml", type=click.Path(path_type=Path, dir_okay=False)
)


#: The options about a local server and its database.
_LOCAL = ("database", "host", "port", "http", "stay", "pgn", "jsonl")


def _one_server(command: F) -> F:
    """Refuse options of a local server with `--server`, and `--name` without `--server`."""

    @functools.wraps(command)
    def checked(*arguments: Any, server: ServerAddress | None, **options: Any) -> Any:
        context = click.get_current_context()
        if server:
            refuse(context, _LOCAL, "with --server, there is no local server and no database")
        else:
            refuse(context, ["name"], "only with --server an account has to be named")
        return command(*arguments, server=server, **options)

    return checked  # type: ignore[return-value]


#: Add `--server`, `--name` and the options of TLS: a running server, and the account there.
remote_server_options = combined(
    server_option("Use this running server, instead of a local one and its database."),
    click.option(
        "--name",
        default="organizer",
        show_default=True,
        help="With --server: the name of an administrator's account there; its token is read "
        "from the environment variable PLAYOUT_TOKEN.",
    ),
    _one_server,
)


def _reachable(context: click.Context, parameter: click.Parameter, host: str) -> str:
    if host in ("", "0.0.0.0", "::"):
        raise click.BadParameter(
            f"{host!r} is no address that entrants can connect to: give the one by which other "
            "machines reach this one"
        )
    return host


#: Add the options about the server that plays the tournament, running or local.
server_options = combined(
    remote_server_options,
    dask_option("Start the entrants"),
    click.option(
        "--host",
        metavar="ADDRESS",
        default=HOST,
        show_default=True,
        callback=_reachable,
        help="Address of this machine on which the local server listens. If other "
        "machines reach it, it uses TLS, with a certificate made for it: for the workers "
        "of a cluster.",
    ),
    click.option(
        "--port",
        default=0,
        type=click.IntRange(0, 65535),
        help="Port of the local server, for entrants that log in by themselves.  "
        "[default: any free port]",
    ),
    click.option(
        "--http",
        metavar="HOST:PORT",
        default=USUAL_HTTP,
        callback=http_address,
        help="Address of the local server's web pages, or none.  "
        f"[default: {USUAL_HTTP}, or another port if that is in use]",
    ),
    click.option(
        "--stay",
        is_flag=True,
        help="When the tournament is over, keep the local server and its web pages "
        "running until Ctrl-C.",
    ),
    click.option(
        "--pgn",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Append each match to this file when it ends, as PGN; also after a "
        "resumption, each match once. Not with --server.",
    ),
    click.option(
        "--jsonl",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The same as JSON Lines, with clocks and analyses.",
    ),
)
