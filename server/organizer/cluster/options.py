"""The option `--dask`, and the cluster that it and the file choose. It imports Dask when needed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from server.tournament.spec_parser import ClusterSettings

if TYPE_CHECKING:
    from server.organizer.cluster.cluster import Cluster

F = TypeVar("F", bound=Callable[..., object])


def dask_option(command: F) -> F:
    """Add `--dask` to a command."""
    return click.option(
        "--dask",
        metavar="ADDRESS",
        help="Start the entrants on the workers of a Dask cluster: the address of its scheduler, "
        "as in tcp://10.0.0.1:8786, or local for a cluster on this machine, with a worker for each "
        "core. Needs: pip install 'playout[cluster]'",
    )(command)


@contextlib.contextmanager
def chosen_cluster(address: str | None, settings: ClusterSettings) -> Iterator[Cluster | None]:
    """The cluster at an address, by default that of the settings; None if there is no address.

    It is closed at the end. Raises ClickException.
    """
    address = address or settings.dask
    if address is None:
        yield None
        return
    if importlib.util.find_spec("distributed") is None:
        raise click.ClickException(
            "--dask needs the package distributed: pip install 'playout[cluster]'"
        )
    module = importlib.import_module("server.organizer.cluster.cluster")
    with module.opened(address, settings.files) as cluster:
        yield cluster
