"""The commands that play matches: `run`, `resume`, and `match`, which needs no file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from playout.commands.options import PLAYER
from playout.protocol.names import LONGEST
from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.server.cli.database_commands import opened
from playout.server.organizer import spec_file
from playout.server.organizer.commands import (
    database_option,
    server_options,
    spec_argument,
)
from playout.server.organizer.console import CHECKING, busy
from playout.server.organizer.launch import (
    ServerChoice,
    chosen_cluster,
    launch,
    notes,
    prepare_database,
)
from playout.server.organizer.progress import stored_ledger, stored_tournament
from playout.server.organizer.runner import RunRequest
from playout.server.tournament.report import writer
from playout.server.tournament.results import Results
from playout.server.tournament.spec_parser import ClusterSettings

if TYPE_CHECKING:
    from playout.server.organizer.cluster_entrants import TournamentCluster

_RUN_EPILOG = """
\b
Examples:
  playout-tournament run SPEC.toml
  playout-tournament run SPEC.toml --stay          when it is over, keep its web page
  playout-tournament run SPEC.toml --port 4242     entrants may log in by themselves, as:
                                                   playout-player any uct --tournament any
                                                     --name NAME --port 4242
  playout-tournament run SPEC.toml --pgn matches.pgn    append each match when it ends
  playout-tournament run SPEC.toml --dask tcp://10.0.0.1:8786    entrants on a Dask cluster
  PLAYOUT_TOKEN=... playout-tournament run SPEC.toml --server play.example:4242 --tls --name Ada

Commands are run in the folder of the file. Ctrl-C stops the tournament; the matches played so far
are stored, and resume continues it.
"""


@click.command(epilog=_RUN_EPILOG)
@spec_argument
@server_options
@database_option
def run(file: Path, **options: Any) -> None:
    """Play the tournament that SPEC.toml describes."""
    choice = ServerChoice(**options)
    with chosen_cluster(choice.dask, spec_file.cluster_settings(file)) as cluster:
        with busy(CHECKING):
            spec = spec_file.read_and_check(file, cluster.cores if cluster else None)
        request = RunRequest(spec, notes=notes(spec, cluster))
        launch(request, choice, file.parent, spec.entrants, cluster)


_RESUME_EPILOG = """
\b
Examples:
  playout-tournament resume                      the latest tournament
  playout-tournament resume 19a3f0c2e10001
  playout-tournament resume --spec SPEC.toml     when SPEC.toml is in another folder
"""


@click.command(epilog=_RESUME_EPILOG)
@click.argument("tournament", metavar="[ID]", required=False)
@click.option(
    "--spec",
    "file",
    metavar="SPEC.toml",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Start players and commands as this file says, in its folder.  "
    "[default: as they were at the start, in the current folder]",
)
@click.option("--anyway", is_flag=True, help="Continue with entrants that have changed.")
@server_options
@database_option
def resume(
    tournament: str | None,
    file: Path | None,
    anyway: bool,
    **options: Any,
) -> None:
    """Continue the tournament ID, or the latest, after an interruption."""
    choice = ServerChoice(**options)
    settings = spec_file.cluster_settings(file) if file else ClusterSettings()
    with chosen_cluster(choice.dask, settings) as cluster:
        _resume(tournament, file, choice, cluster, anyway=anyway)


def _resume(
    tournament: str | None,
    file: Path | None,
    choice: ServerChoice,
    cluster: TournamentCluster | None,
    *,
    anyway: bool,
) -> None:
    """Continue a tournament; with a cluster, its entrants run there."""
    folder = file.parent if file else Path.cwd()
    with busy(CHECKING):
        given = spec_file.read_and_check(file) if file else None
    if choice.server:
        _resume_remote(tournament, given, choice, folder, cluster, anyway=anyway)
        return
    with opened(choice.database, of_any_version=True) as database:
        if database.is_outdated():
            prepare_database(choice.database)
    with opened(choice.database) as database:
        stored = stored_tournament(database, tournament)
    spec, tournament = loads(stored.created.spec), stored.created.tournament
    if stored.ended:
        click.echo(f"Tournament {tournament} is over.\n")
        click.echo(writer("text")(Results(stored_ledger(stored)).report()), nl=False)
        return
    if given and (fields := spec_file.differences(given, spec)):
        raise click.ClickException(
            f"{file} is not the file of tournament {tournament}: it differs in {', '.join(fields)}"
        )
    if not anyway:
        _require_unchanged(spec, given, folder)
    if given is None:
        with busy(CHECKING):
            spec_file.check(spec, folder)
    request = RunRequest(spec, tournament, notes=notes(spec, cluster))
    launch(request, choice, folder, given.entrants if given else spec.entrants, cluster)


def _resume_remote(
    tournament: str | None,
    given: TournamentSpec | None,
    choice: ServerChoice,
    folder: Path,
    cluster: TournamentCluster | None,
    *,
    anyway: bool,
) -> None:
    """Continue a tournament of a running server, which has its matches."""
    if tournament is None or given is None:
        raise click.UsageError("with --server, name the tournament's ID and its file, --spec")
    request = RunRequest(given, tournament, notes=notes(given, cluster), anyway=anyway)
    launch(request, choice, folder, given.entrants, cluster)


def _require_unchanged(spec: TournamentSpec, given: TournamentSpec | None, folder: Path) -> None:
    """Raise ClickException if an entrant has another version than at the start."""
    if given is None:
        changed = spec_file.changed(spec.entrants, folder)
    else:
        versions = {each.name: each.version for each in given.entrants}
        changed = [each.name for each in spec.entrants if versions[each.name] != each.version]
    if changed:
        raise click.ClickException(
            f"{', '.join(changed)}: not the version with which the tournament began, by the files "
            f"in {folder.resolve()}. Go to the folder of the tournament's file, or name the file "
            "with --spec; --anyway continues with the present version"
        )


_MATCH_EPILOG = """
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


@click.command(epilog=_MATCH_EPILOG)
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
    if PLAYER.fullmatch(typed):
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
