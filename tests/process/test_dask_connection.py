"""The connection to a scheduler of Dask that is killed and started again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import PATIENCE_S
from support.dask_cluster import DaskCluster
from support.waiting import wait_until

pytest.importorskip("distributed")

from playout.cluster import connection as dask
from playout.cluster.connection import DaskConnection


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    cluster = DaskCluster(tmp_path, 0)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def connection(cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[DaskConnection]:
    monkeypatch.setattr(dask, "CONNECT_S", PATIENCE_S)
    connection = DaskConnection(cluster.address)
    try:
        yield connection
    finally:
        connection.close()


def test_another_scheduler_is_noticed_though_dask_has_connected_to_it(
    cluster: DaskCluster, connection: DaskConnection
) -> None:
    now = itertools.count()
    assert connection.poll(next(now))
    cluster.kill_scheduler()
    cluster.start_scheduler()
    cluster.start_worker()
    wait_until(lambda: has_worker(connection), "Dask's own connection", PATIENCE_S)
    assert not connection.poll(next(now))
    wait_until(lambda: connection.poll(next(now)), "a new connection", PATIENCE_S)
    wait_until(lambda: "add-worker" in actions(connection), "the worker", PATIENCE_S)
    cluster.kill_worker(0)
    wait_until(lambda: "remove-worker" in actions(connection), "its loss", PATIENCE_S)


def has_worker(connection: DaskConnection) -> bool:
    try:
        return connection.threads > 0
    except OSError:
        return False


def actions(connection: DaskConnection) -> list[str]:
    """What has happened to workers, since the last call."""
    return [each["action"] for each in connection.messages()]
