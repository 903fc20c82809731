"""`playout-tournament run` and `resume`."""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from server.cli.database import opened
from server.client.connection import ServerConnection
from server.client.tls import TlsSettings, security
from server.model.tournament_spec import Entrant, TournamentSpec, dumps, loads
from server.organizer import estimate, spec_file, stored_tournaments
from server.organizer.commands.options import (
    BadFile,
    database_option,
    organizers_token,
    server_options,
    spec_argument,
)
from server.organizer.console import screen
from server.organizer.local_server import LocalServer, LocalServerError, organizer_beside, prepare
from server.organizer.login import organizer_hello
from server.organizer.progress import TournamentProgress
from server.organizer.runner import Runner, RunRequest
from server.organizer.supervisor import Start, starter
from server.runtime.subprocesses import LogFolder
from server.storage import StorageError
from server.tournament.report import writer

#: Seconds to go on trying to reach a server that is not its own.
_PATIENCE_S = 60.0

_RUN_EPILOG = """
\b
Examples:
  playout-tournament run SPEC.toml
  playout-tournament run SPEC.toml --stay          when it is over, its page can still be read
  playout-tournament run SPEC.toml --port 4242     entrants may log in by themselves, as:
                                                   playout-player any uct --tournament any
                                                     --name NAME --port 4242
  PLAYOUT_TOKEN=... playout-tournament run SPEC.toml --server play.example:4242 --tls --name Ada

Commands run in the folder of the file. Ctrl-C stops all; what was played is kept,
and resume goes on.
"""
_RESUME_EPILOG = """
\b
Examples:
  playout-tournament resume                      the latest
  playout-tournament resume 19a3f0c2e10001
  playout-tournament resume --spec SPEC.toml     from the folder where its commands are
"""


@dataclass(frozen=True)
class _Place:
    """Where it is played: on `server` as `name`, or on one of its own, at `port`.

    `tls`, `ca` and `tls_name` say how to be sure of the `server`. The one of its own has its page
    at `http`, and is left running in the end if it is to `stay`.
    """

    server: tuple[str, int] | None
    name: str
    tls: bool
    ca: Path | None
    tls_name: str | None
    port: int
    http: tuple[str, int] | None
    stay: bool
    database: str


@click.command(epilog=_RUN_EPILOG)
@spec_argument
@server_options
@database_option
def run(file: Path, **options: Any) -> None:
    """Play the tournament that SPEC.toml describes."""
    spec = _checked(file)
    place = _Place(**options)
    _play(RunRequest(spec, notes=_notes(spec)), place, file.parent, spec.entrants)


@click.command(epilog=_RESUME_EPILOG)
@click.argument("tournament", metavar="[ID]", required=False)
@click.option(
    "--spec",
    "file",
    metavar="SPEC.toml",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Start players and commands as this file says, in its folder.  "
    "[default: as they were at the beginning, in this folder]",
)
@click.option("--anyway", is_flag=True, help="Go on with entrants that have changed.")
@server_options
@database_option
def resume(
    tournament: str | None,
    file: Path | None,
    anyway: bool,
    **options: Any,
) -> None:
    """Go on with the tournament ID, or with the latest, from where it was left."""
    place = _Place(**options)
    folder = file.parent if file else Path.cwd()
    given = _checked(file) if file else None
    if place.server:
        _resume_elsewhere(tournament, given, place, folder)
        return
    with opened(place.database) as kept:
        held = stored_tournaments.find(kept, tournament)
    spec, tournament = loads(held.created.spec), held.created.tournament
    if held.ended:
        click.echo(f"Tournament {tournament} is over.\n")
        click.echo(writer("text")(stored_tournaments.progress(held).report()), nl=False)
        return
    if given and (unlike := spec_file.differences(given, spec)):
        raise click.ClickException(
            f"{file} is not the file of tournament {tournament}: it differs in {', '.join(unlike)}"
        )
    entrants = given.entrants if given else spec.entrants
    if not anyway:
        _require_unchanged(spec, given, folder)
    if given is None:
        _check(spec, folder)
    wish = RunRequest(spec, tournament, notes=_notes(spec))
    _play(wish, place, folder, entrants)


def _resume_elsewhere(
    tournament: str | None, given: TournamentSpec | None, place: _Place, folder: Path
) -> None:
    """What it is, that server knows."""
    if tournament is None or given is None:
        raise click.UsageError("with --server, name the tournament's ID and its file, --spec")
    _play(RunRequest(given, tournament, notes=_notes(given)), place, folder, given.entrants)


def _play(wish: RunRequest, place: _Place, folder: Path, entrants: Iterable[Entrant]) -> None:
    """Until it is over, then show what it has shown; exits."""
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    here = {each.name: each for each in entrants}
    logs = LogFolder()
    trusted = _security(place)
    try:
        embedded, name, tokens = _server(wish.spec, place, logs)
    except (StorageError, LocalServerError) as error:
        raise click.ClickException(str(error)) from error
    address = embedded.address if embedded else place.server
    assert address is not None
    _say_who_is_awaited(wish.spec, address)
    if not embedded:
        _say_who_has_no_token(wish.spec, tokens)

    def starter_of(spec: TournamentSpec, tournament: str) -> Start:
        start = starter(spec, folder.resolve(), address, tournament, tokens, trusted)
        return lambda entrant, *rest: start(here.get(entrant.name, entrant), *rest)

    if embedded:
        wish = _with_database(wish, place.database)
    runner = Runner(reactor, wish, starter_of, embedded, screen(), logs, stay=place.stay)
    # A server of its own is started again and again; it says itself when that is useless.
    patience_s = math.inf if embedded else _PATIENCE_S
    connection = ServerConnection(reactor, address, runner, patience_s, trusted)
    runner.use(connection, organizer_hello(name, tokens[name]))
    runner.run()
    if runner.code == 0 and runner.progress:
        click.echo()
        click.echo(writer("text")(runner.progress.report()), nl=False)
        if embedded and place.stay:
            _stay(embedded, runner.progress.id)
    logs.wanted |= runner.code == 1
    if logs.close():
        click.echo(f"What the processes have said is in {logs.folder}", err=True)
    sys.exit(runner.code)


def _security(place: _Place) -> TlsSettings | None:
    """How to be sure of the server, if it is not one of its own. Raises UsageError."""
    if place.server:
        return security(place.server[0], place.tls, place.ca, place.tls_name)
    context = click.get_current_context()
    for option in ("tls", "ca", "tls_name"):
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{option.replace('_', '-')} needs --server: one of its own is on this machine"
            )
    return None


def _server(
    spec: TournamentSpec, place: _Place, logs: LogFolder
) -> tuple[LocalServer | None, str, Mapping[str, str]]:
    """The server, if it is one of its own; the organizer's name; tokens by name.

    Raises StorageError, EmbeddedError.
    """
    if place.server is None:
        if place.database == "none":
            raise click.UsageError("a tournament needs a database: --database URL")
        ours = [each.name for each in spec.entrants if each.player or each.command]
        registration = _registration(place, all_are_ours=len(ours) == len(spec.entrants))
        name = organizer_beside(each.name for each in spec.entrants)
        tokens = prepare(place.database, name, ours)
        embedded = LocalServer(
            place.database, place.port, logs, registration=registration, http=place.http
        )
        return embedded, name, tokens
    token = organizers_token(place.name)
    given = {each.name: os.environ.get(_variable(each.name)) for each in spec.entrants}
    tokens = {name: value for name, value in given.items() if value}
    return None, place.name, tokens | {place.name: token}


def _registration(place: _Place, *, all_are_ours: bool) -> str:
    """Who may come: others who are awaited, those who watch on the page, or nobody else."""
    if not all_are_ours:
        return "open"
    return "guests" if place.http else "closed"


def _stay(embedded: LocalServer, tournament: str) -> None:
    """Until one asks it to stop. Raises ClickException if it cannot be kept running."""
    where = f", at {page}" if (page := embedded.page_of(tournament)) else ""
    click.echo(f"\nThe server stays{where}; Ctrl-C ends it")
    try:
        embedded.stay()
    except LocalServerError as error:
        raise click.ClickException(str(error)) from error
    finally:
        embedded.stop()


def _variable(name: str) -> str:
    """Where the token of an entrant may be."""
    return f"PLAYOUT_TOKEN_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"


def _with_database(wish: RunRequest, database: str) -> RunRequest:
    """The same, and how the database tells what has become of it."""
    with opened(database) as kept:
        before = {each.created.tournament for each in kept.tournaments()}
        left = [each.started for each in kept.unfinished()]
    text = dumps(wish.spec)
    others = tuple(each.match for each in left if each.tournament not in (None, wish.tournament))

    def begun() -> str | None:
        with opened(database) as kept:
            new = (h.created for h in kept.tournaments() if h.created.tournament not in before)
            return next((each.tournament for each in new if each.spec == text), None)

    def found(tournament: str) -> TournamentProgress:
        with opened(database) as kept:
            return stored_tournaments.progress(stored_tournaments.find(kept, tournament))

    return replace(wish, begun=begun, stored=found, others=others)


def _say_who_is_awaited(spec: TournamentSpec, address: tuple[str, int]) -> None:
    for each in spec.entrants:
        if not (each.player or each.command):
            click.echo(f"{each.name} is awaited at {address[0]}:{address[1]}")


def _say_who_has_no_token(spec: TournamentSpec, tokens: Mapping[str, str]) -> None:
    """Of those that are started here; if their names are somebody else's, they cannot play."""
    for each in spec.entrants:
        if (each.player or each.command) and each.name not in tokens:
            click.echo(f"{each.name} has no token in {_variable(each.name)}: it needs a name that "
                       "is free there, or a token that it has kept")  # fmt: skip


def _checked(file: Path) -> TournamentSpec:
    """The tournament of a file, whose players can be had. Raises BadFile."""
    try:
        spec = spec_file.read(file)
    except spec_file.SourceError as error:
        raise BadFile(str(error)) from error
    _check(spec, file.parent, file)
    return spec


def _check(spec: TournamentSpec, folder: Path, file: Path | None = None) -> None:
    try:
        spec_file.check(spec, folder, file)
    except spec_file.SourceError as error:
        raise BadFile(str(error)) from error


def _require_unchanged(spec: TournamentSpec, given: TournamentSpec | None, folder: Path) -> None:
    """Raises ClickException if an entrant is not what it was."""
    if given is None:
        changed = spec_file.changed(spec.entrants, folder)
    else:
        versions = {each.name: each.version for each in given.entrants}
        changed = [each.name for each in spec.entrants if versions[each.name] != each.version]
    if changed:
        raise click.ClickException(
            f"{', '.join(changed)}: not the version with which the tournament began, by the files "
            f"in {folder.resolve()}. Go to the folder of the tournament's file, or name it with "
            "--spec; --anyway goes on all the same"
        )


def _notes(spec: TournamentSpec) -> tuple[str, ...]:
    note = estimate.strain(spec)
    return (note,) if note else ()
