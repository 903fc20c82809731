"""The cluster that the option `--dask` and the file choose. Dask is imported when it is needed."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from playout.cluster.cluster_options import require_dask
from playout.server.tournament.spec_parser import ClusterSettings

if TYPE_CHECKING:
    from playout.server.organizer.cluster.cluster import Cluster


@contextlib.contextmanager
def chosen_cluster(address: str | None, settings: ClusterSettings) -> Iterator[Cluster | None]:
    """The cluster at an address, by default that of the settings; None if there is no address.

    It is closed at the end. Raises ClickException.
    """
    address = address or settings.dask
    if address is None:
        yield None
        return
    require_dask()
    module = importlib.import_module("playout.server.organizer.cluster.cluster")
    with module.opened(address, settings.files) as cluster:
        yield cluster
