"""The options of `playout-server` for competitions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from playout.cluster import require_dask
from playout.commands.options import combined
from playout.protocol.endpoints import is_loopback, spelled
from playout.server.cli.server_options import http_address
from playout.server.tournament.competition_file import CompetitionFileError, read

#: Add `--competition` and `--competition-http`, for bots that are handed in.
competition_options = combined(
    click.option(
        "--competition",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path, dir_okay=False),
        help="A competition, as playout-competition new writes it; repeatable. The ladders of "
        "its games are for its bots only, and other games have one only by --ladder.",
    ),
    click.option(
        "--competition-http",
        metavar="HOST:PORT",
        default="127.0.0.1:8081",
        show_default=True,
        callback=http_address,
        help="Address of the pages of competitions, where bots are handed in.",
    ),
)


def with_competitions(
    ladders: Mapping[str, str | None] | None, settings: Mapping[str, Any], *, insecure: bool
) -> dict[str, Any]:
    """Return the fields of a policy about ladders, with those of the competitions, and their names.

    Raises UsageError for files with faults, for two competitions of one game, and for options that
    do not fit.
    """
    files, http = settings["competition"], settings["competition_http"]
    if not files:
        return {"ladders": ladders}
    if settings["database"] == "none":
        raise click.UsageError("--competition needs a database")
    if http is None or not (is_loopback(http[0]) or insecure or settings["http_proxied"]):
        shown = spelled(*http) if http else "none"
        raise click.UsageError(
            f"with --competition-http {shown}, tokens cannot be sent, or can be read on the "
            "network: give an address of this machine behind a proxy with TLS, or allow it by "
            "--insecure"
        )
    clocks: dict[str, str | None] = {}
    reserved: frozenset[str] = frozenset()
    for file in files:
        try:
            competition = read(file)
        except CompetitionFileError as error:
            raise click.UsageError(str(error)) from error
        if taken := clocks.keys() & competition.games:
            text = f"{file}: another competition has the ladder of {', '.join(sorted(taken))}"
            raise click.UsageError(text)
        if competition.cluster:
            require_dask()
        clocks |= dict.fromkeys(competition.games, competition.clock)
        reserved |= competition.names
    merged = {**(ladders or {}), **clocks}
    return {"ladders": merged, "closed_ladders": frozenset(clocks), "reserved": reserved}
