"""A Dask cluster for the entrants of one tournament, from its start to its end."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import click
import dask

from playout.cluster.connection import DaskConnection
from playout.cluster.local import LOCAL, clear_loss, connected
from playout.commands.text import counted
from playout.protocol.endpoints import BACKLOG
from playout.protocol.messages import Tournament
from playout.protocol.tls import TlsSettings
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer import cores
from playout.server.organizer.cluster import preflight
from playout.server.organizer.cluster.core_set import keep_to_one
from playout.server.organizer.cluster.dask_entrants import DaskEntrants
from playout.server.organizer.cluster.job import ClusterJob, tls_variables, travelling_files
from playout.server.organizer.cluster.preflight import CheckedWorker
from playout.server.organizer.entrants import RunnerCalls
from playout.server.tournament.spec_validation import LONGEST_MACHINE


@contextlib.contextmanager
def opened(address: str, files: Iterable[str]) -> Iterator[Cluster]:
    """Within the block, use the cluster at an address, or a new one on this machine.

    `files`: files and folders that are sent to the workers. Raises ClickException.
    """
    with connected(address) as connection:
        if address == LOCAL:
            with clear_loss(connection):
                connection.run(keep_to_one)
        yield Cluster(connection, tuple(files))


class Cluster:
    """The workers that run the entrants of a tournament."""

    def __init__(self, connection: DaskConnection, files: tuple[str, ...]) -> None:
        self._connection = connection
        self._files = files
        self._workers: list[CheckedWorker] = []
        self._job: ClusterJob | None = None
        #: The number of threads of all workers, each for one core.
        self.cores = connection.threads

    def check(
        self,
        spec: TournamentSpec,
        entrants: Iterable[Entrant],
        folder: Path,
        address: tuple[str, int],
        tokens: Mapping[str, str],
        tls: TlsSettings | None,
        *,
        is_running: bool,
    ) -> None:
        """Check all workers before the first match, and show their faults.

        `address` is that of the server; `is_running`: whether it has started. Raises ClickException
        if no worker can run the entrants.
        """
        entrants = tuple(each for each in entrants if each.player or each.command)
        try:
            variables, authority = tls_variables(tls)
            files = travelling_files(entrants, folder, self._files) | authority
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}") from error
        names = {each.name for each in entrants}
        mine = {name: token for name, token in tokens.items() if name in names}
        spec = replace(spec, entrants=entrants)
        self._job = ClusterJob(spec, address, mine, variables, files)
        placeholder = contextlib.nullcontext() if is_running else listening(address)
        with placeholder, clear_loss(self._connection):
            self._workers = preflight.check(self._connection, self._job)
        if table := preflight.table(self._workers):
            click.echo(f"These workers get no entrants:\n{table}", err=True)
        for line in preflight.slow_workers(self._workers):
            click.echo(line)
        if not any(each.cores for each in self._workers):
            raise click.ClickException("no worker of the cluster can run the entrants")

    @property
    def description(self) -> str:
        """The workers, which the report shows in place of the machine."""
        good = [each for each in self._workers if each.cores]
        hosts = {each.answer.host for each in good if each.answer}
        text = (
            f"Dask {dask.__version__}: {counted(len(good), 'worker')} with "
            f"{counted(sum(each.cores for each in good), 'core')} on "
            f"{counted(len(hosts), 'host')}; runner: {cores.description()}"
        )
        return text[:LONGEST_MACHINE]

    def entrants(self, event: Tournament, runner: RunnerCalls) -> DaskEntrants:
        """Return the entrants, after `check`."""
        assert self._job
        return DaskEntrants(event, self._job, self._connection, self._workers, runner)


class _PlaceholderServer(socketserver.TCPServer):
    """Accepts connections and closes them: the queue of a socket alone holds 129."""

    allow_reuse_address = True
    request_queue_size = BACKLOG

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, socketserver.BaseRequestHandler)


@contextlib.contextmanager
def listening(address: tuple[str, int]) -> Iterator[None]:
    """Accept connections at the address of the later server, so that workers can try to connect."""
    with _PlaceholderServer(address) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
