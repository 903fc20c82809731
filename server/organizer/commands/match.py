"""`playout-tournament match`: compares two bots without a file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import click

from playout.protocol.names import LONGEST
from playout.server.organizer import spec_file
from playout.server.organizer.commands.tournament_options import database_option, server_options
from playout.server.organizer.console import CHECKING, busy
from playout.server.organizer.launch import ServerChoice, chosen_cluster, launch, notes
from playout.server.organizer.runner import RunRequest
from playout.server.tournament.spec_parser import ClusterSettings

_EPILOG = """
\b
Examples:
  playout-tournament match connect_four "uct(c=0.7)" "uct(c=1.4)"
  playout-tournament match othello uct "engine(name=rhino)" --pairs 20 --clock 60+1
  playout-tournament match gomoku "alphazero(net=new.onnx)" "alphazero(net=old.onnx)" --sprt 0 20
  playout-tournament match "my_game:Chomp(rows=4)" uct my_bot:MyBot
  playout-tournament match "hex(size=7)" rave "./my_bot --fast" --openings openings.txt

The players are those of `playout-player`, with their options, or commands that connect by
themselves. Each pair is two matches from one opening, with the seats exchanged. Ctrl-C stops it;
the matches played so far are stored, and `playout-tournament resume` continues it.
"""

#: A player: its name, or `module:Class`, then options in parentheses.
_PLAYER = re.compile(r"[\w.]+(:\w+)?(\(.*\))?")


@click.command(epilog=_EPILOG)
@click.argument("game")
@click.argument("first", metavar="PLAYER")
@click.argument("second", metavar="PLAYER")
@click.option(
    "--pairs",
    type=click.IntRange(1),
    help="Pairs of matches; with --sprt, the most.  [default: 100; with --sprt, no limit]",
)
@click.option(
    "--sprt",
    nargs=2,
    type=float,
    metavar="ELO0 ELO1",
    help="Stop as soon as a test decides whether the first player is stronger than the second by "
    "ELO0 or by ELO1.",
)
@click.option("--clock", default="0.1/move", show_default=True, help="The clock of each match.")
@click.option(
    "--openings",
    default="2",
    show_default=True,
    metavar="PLIES|FILE",
    help="Each pair begins with this many random moves, or with an opening of this file.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Decides on the openings.")
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    help="Matches at once.  [default: by the number of cores]",
)
@server_options
@database_option
def match(
    game: str,
    first: str,
    second: str,
    pairs: int | None,
    sprt: tuple[float, float] | None,
    clock: str,
    openings: str,
    seed: int,
    concurrency: int | None,
    **options: Any,
) -> None:
    """Compare two players in a game, and show how certain the difference is."""
    folder = Path.cwd()
    names = _names(first, second)
    values: dict[str, Any] = {
        "name": f"{names[0]} against {names[1]}",
        "games": [game],
        "format": "sprt" if sprt else "match",
        "rounds": pairs or (0 if sprt else 100),
        "clock": clock,
        "seed": seed,
        "openings": _openings(openings),
        "entrants": [_entrant(*each) for each in zip(names, (first, second), strict=True)],
    }
    if concurrency:
        values["concurrency"] = concurrency
    if sprt:
        values["sprt"] = dict(zip(("elo0", "elo1"), sprt, strict=True))
    choice = ServerChoice(**options)
    with chosen_cluster(choice.dask, ClusterSettings()) as cluster:
        with busy(CHECKING):
            spec = spec_file.checked(values, folder, cluster.cores if cluster else None)
        request = RunRequest(spec, notes=notes(spec, cluster))
        launch(request, choice, folder, spec.entrants, cluster)


def _names(first: str, second: str) -> tuple[str, str]:
    """Return the names of the entrants: the typed players, cut to the length of a name."""
    one, other = (" ".join(each.split())[:LONGEST].strip() for each in (first, second))
    if one == other:
        one, other = (f"{one[: LONGEST - 2]} {number}" for number in (1, 2))
    return one, other


def _entrant(name: str, typed: str) -> dict[str, str]:
    """Return the entrant of a player or a command. Raises UsageError for other texts."""
    if _PLAYER.fullmatch(typed):
        return {"name": name, "player": typed}
    program = typed.split(maxsplit=1)[0] if typed.split() else ""
    if not program or shutil.which(program) is None:
        raise click.UsageError(
            f"{typed!r} is neither a player with its options, such as 'uct(c=1.2)', nor a command"
        )
    return {"name": name, "command": typed}


def _openings(typed: str) -> dict[str, Any]:
    """Return the openings: a number of random moves, or the path of a file."""
    return {"plies": int(typed)} if re.fullmatch("[0-9]{1,9}", typed) else {"file": typed}
