"""Launches a tournament on the server and the cluster that the options choose.

At the end it shows the report.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from sqlalchemy.exc import SQLAlchemyError

from playout.cluster import require_dask
from playout.commands.child import LogFolder
from playout.commands.connect_options import ServerAddress
from playout.commands.cores import machine
from playout.commands.prepared import PLAYER, prepare
from playout.protocol.messages import Tournament
from playout.protocol.tournament_spec import Entrant, TournamentSpec, dumps
from playout.server.cli.database_commands import opened
from playout.server.model.records import StoredMatch
from playout.server.organizer import estimate
from playout.server.organizer.console import TournamentDisplay, busy, display
from playout.server.organizer.entrants import LocalEntrants, RunnerCalls
from playout.server.organizer.local_server import (
    LocalServer,
    LocalServerError,
    new_tokens,
    organizer_hello,
    organizer_name,
    organizers_token,
)
from playout.server.organizer.match_files import FindMatch, MatchFile, MatchFiles
from playout.server.organizer.progress import stored_ledger, stored_tournament
from playout.server.organizer.runner import Runner, RunRequest
from playout.server.organizer.supervisor import NOTHING, starter
from playout.server.storage import Database, StorageError
from playout.server.storage.engine import InUse
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import writer
from playout.server.tournament.spec_parser import ClusterSettings
from playout.server.tournament.spec_validation import LONGEST_MACHINE

if TYPE_CHECKING:  # it imports Dask, which is optional
    from playout.server.organizer.cluster_entrants import TournamentCluster

#: Seconds to keep trying to reach a server that is not local.
_PATIENCE_S = 60.0
#: Seconds between two attempts to reach a local server.
_RETRY_S = 0.1
#: Seconds to wait until another server releases the database.
_PATIENCE_FOR_DATABASE_S = 10.0


@dataclass(frozen=True)
class ServerChoice:
    """The options about the server: a running one at `server`, otherwise a local one.

    On the running server, `name` is the organizer's account. A local server listens on `host` and
    `port`, has its web pages at `http`, and with `stay` continues to run when the tournament is
    over. Ended matches are appended to the files `pgn` and `jsonl`. `dask` is the address of a
    cluster for the entrants.
    """

    server: ServerAddress | None
    name: str
    host: str
    port: int
    http: tuple[str, int] | None
    stay: bool
    database: str
    pgn: Path | None = None
    jsonl: Path | None = None
    dask: str | None = None


@contextlib.contextmanager
def chosen_cluster(
    address: str | None, settings: ClusterSettings
) -> Iterator[TournamentCluster | None]:
    """Open the cluster at an address, or that of the settings; yield None if neither has one.

    It is closed at the end of the block. Raises ClickException.
    """
    address = address or settings.dask
    if address is None:
        yield None
        return
    require_dask()
    module = importlib.import_module("playout.server.organizer.cluster_entrants")
    with module.opened(address, settings.files) as cluster:
        yield cluster


class _Server(NamedTuple):
    """A server, the organizer's name there, and the tokens of accounts by name."""

    local: LocalServer | None
    address: ServerAddress
    organizer: str
    tokens: Mapping[str, str]


def launch(
    request: RunRequest,
    choice: ServerChoice,
    folder: Path,
    entrants: Iterable[Entrant],
    cluster: TournamentCluster | None = None,
) -> None:
    """Play a tournament with these `entrants`, started in the folder; then exit.

    With a `cluster`, they run on its workers. Shows the report if the tournament is over at the
    end. Raises UsageError, ClickException.
    """
    with played(request, choice, folder, entrants, cluster=cluster) as (runner, local):
        if runner.code == 0 and runner.progress:
            click.echo()
            click.echo(writer("text")(runner.progress.report()), nl=False)
            if local and choice.stay:
                _stay(local, runner.progress.ledger.id)
    sys.exit(runner.code)


@contextlib.contextmanager
def played(
    request: RunRequest,
    choice: ServerChoice,
    folder: Path,
    entrants: Iterable[Entrant],
    *,
    cluster: TournamentCluster | None = None,
    shown: TournamentDisplay | None = None,
) -> Iterator[tuple[Runner, LocalServer | None]]:
    """Play a tournament as `launch` does; yield its runner, and the local server.

    `shown` displays it. At the end of the block, the user is told where the logs are that show a
    fault. Raises UsageError, ClickException.
    """
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    by_name = {each.name: each for each in entrants}
    files = _match_files(choice)
    logs = LogFolder(None if choice.server else _logs_beside(choice.database))
    try:
        with busy("Preparing the server"):
            server = _server(request.spec, choice, logs, resumes=request.tournament is not None)
    except (StorageError, LocalServerError) as error:
        raise click.ClickException(str(error)) from error
    address = (server.address.host, server.address.port)
    tls = server.address.tls
    if server.local:
        request = _with_database(request, choice.database)
    else:
        _announce_missing_tokens(request.spec, server.tokens)
    _announce_remote_entrants(request.spec, server.address)

    if cluster:
        started = [by_name.get(each.name, each) for each in request.spec.entrants]
        cluster.check(request.spec, started, folder.resolve(), address, server.tokens, tls,
                      is_running=server.local is None)  # fmt: skip
    if request.tournament is None:
        where = cluster.description if cluster else machine()[:LONGEST_MACHINE]
        request = replace(request, spec=replace(request.spec, machine=where))

    def local_entrants(event: Tournament, calls: RunnerCalls) -> LocalEntrants:
        more = tls.environment if tls else NOTHING
        start = starter(
            event.spec, folder.resolve(), address, event.tournament, server.tokens, more
        )
        return LocalEntrants(
            event, lambda each, *rest: start(by_name.get(each.name, each), *rest), logs, calls
        )

    if server.local and not cluster:  # while it starts, there is nothing else to do
        own = [each for each in by_name.values() if each.player or each.protocol]
        prepare(PLAYER, min(2, len(own)))
    entrants_of = cluster.entrants if cluster else local_entrants
    shown = shown or display()
    written = MatchFiles(files, _stored_matches(choice.database), shown.show)
    request = replace(request, match_ended=written.match_ended)
    runner = Runner(reactor, request, entrants_of, server.local, shown, logs, stay=choice.stay)
    # A local server is started again and again, until `LocalServer` gives up.
    if server.local:
        connection = server.address.connection(reactor, runner, math.inf, retry_s=_RETRY_S)
    else:
        connection = server.address.connection(reactor, runner, _PATIENCE_S)
    runner.use(connection, organizer_hello(server.organizer, server.tokens[server.organizer]))
    runner.run()
    for fixture in runner.progress.ledger.fixtures.values() if runner.progress else ():
        written.match_ended(fixture)  # for a tournament that was over before
    yield runner, server.local
    logs.wanted |= runner.code == 1
    if logs.close():
        click.echo(f"The output of the processes is in {logs.folder}", err=True)


def notes(spec: TournamentSpec, cluster: TournamentCluster | None = None) -> tuple[str, ...]:
    """Return the notes for the report: a warning if this machine has too few cores.

    With a cluster there is no warning: a match waits until it has cores.
    """
    warning = None if cluster else estimate.core_shortage(spec)
    return (warning,) if warning else ()


def _match_files(choice: ServerChoice) -> list[MatchFile]:
    """Return the files to which matches are appended. Raises UsageError, ClickException."""
    paths = {"pgn": choice.pgn, "jsonl": choice.jsonl}
    if choice.server and any(paths.values()):
        raise click.UsageError(
            "--pgn and --jsonl read the database of a local server; with --server, its operator "
            "has: playout-tournament export"
        )
    return [MatchFile(path, format_) for format_, path in paths.items() if path]


def _stored_matches(url: str) -> FindMatch:
    """Return a function that reads a match of the local server's database, once it exists."""
    database: list[Database] = []

    def find(match: str) -> StoredMatch | None:
        try:
            if not database:
                database.append(Database(url, only_read=True))
            return next(database[0].matches(match=match), None)
        except (StorageError, SQLAlchemyError):
            return None  # it is tried again with the next match

    return find


def _server(
    spec: TournamentSpec, choice: ServerChoice, logs: LogFolder, *, resumes: bool
) -> _Server:
    """Return the chosen server, for a new tournament or one that it `resumes`.

    Raises UsageError, StorageError, LocalServerError.
    """
    if choice.server:
        return _running_server(spec, choice.server, choice.name)
    if choice.database == "none":
        raise click.UsageError("a tournament needs a database: --database URL")
    local = [each.name for each in spec.entrants if each.player or each.command]
    all_local = len(local) == len(spec.entrants)
    registration = _registration(choice, all_local=all_local)
    organizer = organizer_name(each.name for each in spec.entrants)
    tokens, accounts = new_tokens(organizer, local)
    prepare_database(choice.database)
    server = LocalServer(
        choice.database,
        choice.port,
        logs,
        games=spec.games,
        accounts=accounts,
        registration=registration,
        http=choice.http,
        host=choice.host,
        players_return=not (resumes and all_local),
    )
    return _Server(server, ServerAddress(*server.address, server.tls), organizer, tokens)


def _logs_beside(url: str) -> Path | None:
    """Return the folder for the output of processes beside a database that is a file."""
    path = url.removeprefix("sqlite:///")
    return None if path == url or not path else Path(path).absolute().with_suffix(".logs")


def prepare_database(url: str) -> None:
    """Upgrade a database when no server uses it. Raises StorageError.

    The server of a tournament that was just killed may take a moment to end.
    """
    until = time.monotonic() + _PATIENCE_FOR_DATABASE_S
    with contextlib.closing(Database(url)) as database:
        while True:
            try:
                database.lock()
                break
            except InUse as error:
                if time.monotonic() > until:
                    text = f"{error}: stop it, or use another database: --database URL"
                    raise InUse(text) from error
                time.sleep(0.1)
        database.migrate()


def _running_server(spec: TournamentSpec, address: ServerAddress, name: str) -> _Server:
    """Return a running server, with the tokens of the environment. Raises UsageError."""
    token = organizers_token(name)
    given = {each.name: os.environ.get(_token_variable(each.name)) for each in spec.entrants}
    tokens = {entrant: value for entrant, value in given.items() if value}
    return _Server(None, address, name, tokens | {name: token})


def _registration(choice: ServerChoice, *, all_local: bool) -> str:
    """Return which accounts a local server registers: entrants, guests of its pages, or none."""
    if not all_local:
        return "open"
    return "guests" if choice.http else "closed"


def _stay(server: LocalServer, tournament: str) -> None:
    """Keep the server running until a signal. Raises ClickException if that fails."""
    where = f", at {page}" if (page := server.page_of(tournament)) else ""
    click.echo(f"\nThe server stays{where}; Ctrl-C ends it")
    try:
        server.stay()
    except LocalServerError as error:
        raise click.ClickException(str(error)) from error
    finally:
        server.stop()


def _token_variable(name: str) -> str:
    """Return the environment variable with the token of an entrant."""
    return f"PLAYOUT_TOKEN_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"


def _with_database(request: RunRequest, url: str) -> RunRequest:
    """Return the request with functions that read the database of the local server."""
    with opened(url) as database:
        before = {each.created.tournament for each in database.tournaments()}
        running = [each.started for each in database.unfinished()]
    text = dumps(request.spec)
    mine = [each.match for each in running if each.tournament == request.tournament]
    # With fewer processes than before, the players of some matches do not return.
    kept = mine[: request.at_once]
    abandoned = tuple(each.match for each in running if each.tournament and each.match not in kept)

    def created() -> str | None:
        with opened(url) as database:
            known = (each.created for each in database.tournaments())
            new = (each for each in known if each.tournament not in before)
            return next((each.tournament for each in new if each.spec == text), None)

    def stored(tournament: str) -> Ledger:
        with opened(url) as database:
            return stored_ledger(stored_tournament(database, tournament))

    return replace(request, created=created, stored=stored, abandoned=abandoned)


def _announce_remote_entrants(spec: TournamentSpec, server: ServerAddress) -> None:
    """Tell the user which entrants must log in themselves, at which address, with which `--ca`."""
    authority = server.tls.environment.get("PLAYOUT_CA") if server.tls else None
    options = f", with --ca {authority}" if authority else ""
    for each in spec.entrants:
        if not (each.player or each.command):
            click.echo(f"Waiting for {each.name} to log in at {server}{options}")


def _announce_missing_tokens(spec: TournamentSpec, tokens: Mapping[str, str]) -> None:
    """Tell the user which entrants have no token: their names must be free on the server."""
    for each in spec.entrants:
        if (each.player or each.command) and each.name not in tokens:
            click.echo(f"{each.name} has no token in {_token_variable(each.name)}: it can play "
                       "only if its name is free there, or if it has stored a token")  # fmt: skip
