"""A Dask cluster for the entrants of one tournament, from its start to its end."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import click
import dask
from distributed import LocalCluster

from games.core.cores import usable_cores
from server.client.tls import TlsSettings
from server.model.messages import Tournament
from server.model.tournament_spec import Entrant, TournamentSpec
from server.organizer import machine
from server.organizer.cluster import preflight
from server.organizer.cluster.connection import DaskConnection
from server.organizer.cluster.dask_entrants import DaskEntrants
from server.organizer.cluster.job import ClusterJob, tls_variables, travelling_files
from server.organizer.cluster.preflight import CheckedWorker
from server.organizer.entrants import RunnerCalls
from server.tournament.report import words
from server.tournament.spec_validation import LONGEST_MACHINE

#: The address that stands for a new cluster on this machine.
LOCAL = "local"


@contextlib.contextmanager
def opened(address: str, files: Iterable[str]) -> Iterator[Cluster]:
    """The cluster at an address, or one on this machine, which ends with the block.

    `files`: files and folders that travel to the workers. Raises ClickException.
    """
    with contextlib.ExitStack() as stack:
        if address == LOCAL:
            address = stack.enter_context(_local_cluster())
        try:
            connection = DaskConnection(address)
        except (OSError, ValueError) as error:
            raise click.ClickException(
                f"there is no scheduler of Dask at {address} ({error}): --dask needs the address "
                "that dask scheduler prints, as in tcp://10.0.0.1:8786"
            ) from error
        stack.callback(connection.close)
        yield Cluster(connection, tuple(files))


@contextlib.contextmanager
def _local_cluster() -> Iterator[str]:
    """The address of a cluster on this machine, with a worker process for each core."""
    # A terminal sends Ctrl-C to the workers, too; the runner ends them.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(
            n_workers=usable_cores(),
            threads_per_worker=1,
            memory_limit=0,  # entrants are processes of their own
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL + 1,
        )
    finally:
        signal.signal(signal.SIGINT, handler)
    with cluster:
        yield str(cluster.scheduler_address)


class Cluster:
    """The workers that run the entrants of a tournament."""

    def __init__(self, connection: DaskConnection, files: tuple[str, ...]) -> None:
        self._connection = connection
        self._files = files
        self._workers: list[CheckedWorker] = []
        self._job: ClusterJob | None = None
        #: The number of threads of all workers, each of which stands for a core.
        self.cores = connection.threads
        if not self.cores:
            raise click.ClickException(
                f"the cluster at {connection.address} has no workers: start some with dask worker"
            )

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
        """Check all workers before the first match, and show what is wrong with which.

        `address`: of the server, which `is_running` already or not yet. Raises ClickException if no
        worker can run the entrants.
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
        with contextlib.nullcontext() if is_running else _listening(address):
            self._workers = preflight.check(self._connection, self._job)
        if table := preflight.table(self._workers):
            click.echo(f"These workers get no entrants:\n{table}", err=True)
        for line in self.notes:
            click.echo(line)
        if not any(each.cores for each in self._workers):
            raise click.ClickException("no worker of the cluster can run the entrants")

    @property
    def notes(self) -> list[str]:
        """Sentences for the report, on workers that are slower than others."""
        return preflight.slow_workers(self._workers)

    @property
    def description(self) -> str:
        """The workers, for the report, in place of the machine."""
        good = [each for each in self._workers if each.cores]
        hosts = {each.answer.host for each in good if each.answer}
        text = (
            f"Dask {dask.__version__}: {words.counted(len(good), 'worker')} with "
            f"{words.counted(sum(each.cores for each in good), 'core')} on "
            f"{words.counted(len(hosts), 'host')}; runner: {machine.description()}"
        )
        return text[:LONGEST_MACHINE]

    def entrants(self, event: Tournament, runner: RunnerCalls) -> DaskEntrants:
        """The place of the entrants; `check` comes first."""
        assert self._job
        return DaskEntrants(event, self._job, self._connection, self._workers, runner)


@contextlib.contextmanager
def _listening(address: tuple[str, int]) -> Iterator[None]:
    """Listen where the server will, so that workers can try to connect."""
    with socket.create_server(address):
        yield
