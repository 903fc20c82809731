"""Connects to the cluster at an address, or starts one on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker

import click
from distributed import LocalCluster

from playout.cluster.connection import DaskConnection
from playout.commands.subprocesses import usable_cores

#: The address that stands for a new cluster on this machine.
LOCAL = "local"
_HELP = "--dask needs the address that dask scheduler prints, as in tcp://10.0.0.1:8786"


@contextlib.contextmanager
def connected(address: str, workers: int = 0) -> Iterator[DaskConnection]:
    """Within the block, be connected to the cluster at an address, or to a new one here.

    A cluster on this machine has that many `workers`, by default one for each core. Raises
    ClickException if there is no scheduler, or if it has no worker.
    """
    with contextlib.ExitStack() as stack:
        if address == LOCAL:
            address = stack.enter_context(_local_cluster(workers or usable_cores()))
        try:
            connection = DaskConnection(address)
        except TypeError as error:  # Dask's, for tls:// without settings
            raise click.ClickException(
                f"Dask has no certificates for {address}: give their files as distributed.comm.tls "
                "in its configuration"
            ) from error
        except (OSError, ValueError) as error:
            raise click.ClickException(
                f"there is no scheduler of Dask at {address} ({error}): {_HELP}"
            ) from error
        stack.callback(connection.close)
        with clear_loss(connection):
            has_workers = connection.threads > 0
        if not has_workers:
            raise click.ClickException(
                f"the cluster at {connection.address} has no workers: start some with dask worker"
            )
        yield connection


@contextlib.contextmanager
def clear_loss(connection: DaskConnection) -> Iterator[None]:
    """Raise ClickException if the scheduler is lost in the block."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(
            f"the connection to the scheduler of Dask at {connection.address} is lost: start it "
            "again, and then this command"
        ) from error


@contextlib.contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    """Within the block, run a cluster with one thread for each worker; yield its address."""
    # The workers ignore Ctrl-C of the terminal; the runner ends them.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    _start_silent_tracker()
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,  # entrants and self-play are processes of their own
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL + 1,
        )
    finally:
        signal.signal(signal.SIGINT, handler)
    with cluster:
        yield str(cluster.scheduler_address)


def _start_silent_tracker() -> None:
    """Start Python's resource tracker without its warnings.

    It would warn of semaphores of the workers after a command that Ctrl-C ends at once.
    """
    name = "PYTHONWARNINGS"
    before = os.environ.get(name)
    os.environ[name] = "ignore"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ[name]
        os.environ.update({name: before} if before is not None else {})
