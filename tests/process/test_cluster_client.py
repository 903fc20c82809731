"""The client of a Dask cluster: a scheduler that is killed, and workers that are slow to answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.commands import PATIENCE_S
from support.dask_cluster import DaskCluster, answer_later, return_done, wait_for_workers
from support.requirements import need_packages
from support.waiting import wait_until

pytest.importorskip("distributed")

from playout.cluster import cluster as client
from playout.cluster.cluster import Cluster, Connected, Disconnected, Event, Joined, Left
from playout.cluster.workers import Need, fault_table
from playout.players.training import TrainingError
from playout.players.training.cluster_players import ClusterExecutor, net_faults

need_packages("onnx", "onnxruntime")

NEED = Need("cores", partial(net_faults, "auto"))


class Polled(Cluster):
    """A cluster that is polled, and its events so far."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.heard: list[Event] = []
        self._now = itertools.count()

    def until(self, kind: type) -> None:
        """Poll until there is an event of a class."""

        def is_there() -> bool:
            self.heard += self.poll(next(self._now))
            return any(isinstance(each, kind) for each in self.heard)

        wait_until(is_there, kind.__name__, PATIENCE_S)


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    dask = DaskCluster(tmp_path, 0)
    try:
        yield dask
    finally:
        dask.stop()


@pytest.fixture
def late(dask: DaskCluster, tmp_path: Path) -> None:
    """A worker that answers its first question when the file `ready` is there."""
    late = partial(answer_later, tmp_path)
    dask.start_worker(changed={"platform.python_version": late})
    wait_for_workers(dask, 1)


@pytest.fixture
def cluster(dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Polled]:
    monkeypatch.setattr(client, "CONNECT_S", PATIENCE_S)
    monkeypatch.setattr(client, "ANSWER_S", PATIENCE_S)
    cluster = Polled(dask.address)
    try:
        yield cluster
    finally:
        cluster.close()


def test_another_scheduler_is_noticed_though_dask_has_connected_to_it(
    dask: DaskCluster, cluster: Polled
) -> None:
    cluster.need(NEED)
    assert cluster.poll(0) == []
    dask.kill_scheduler()
    dask.start_scheduler()
    dask.start_worker()
    wait_until(lambda: has_worker(cluster), "Dask's own connection", PATIENCE_S)
    cluster.until(Disconnected)
    cluster.until(Connected)
    cluster.until(Joined)
    dask.kill_worker(0)
    cluster.until(Left)
    kinds = [type(each) for each in cluster.heard]
    assert kinds == [Disconnected, Connected, Joined, Left]


def has_worker(cluster: Cluster) -> bool:
    try:
        return len(cluster.threads()) > 0
    except OSError:
        return False


@pytest.mark.usefixtures("late")
def test_a_worker_that_answers_late_joins(
    tmp_path: Path, cluster: Polled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_S", 0.1)
    checked = cluster.check(NEED)
    assert "has not answered for 0.1 s" in fault_table(checked)
    assert cluster.cores == 0
    monkeypatch.setattr(client, "ANSWER_S", PATIENCE_S)
    (tmp_path / "ready").touch()
    cluster.until(Joined)
    assert cluster.cores == 1


@pytest.mark.usefixtures("late")
def test_a_training_whose_results_never_come_ends(
    tmp_path: Path, cluster: Polled, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ready").touch()
    monkeypatch.setattr(client, "RESULT_S", 1e-9)
    cluster.check(NEED)
    said: list[str] = []
    with ClusterExecutor(cluster, said.append) as executor:
        done = executor.submit(return_done)
        with pytest.raises(TrainingError, match="has failed 3 times: its result is lost"):
            done.result(PATIENCE_S)
    assert len(said) == 2
    assert {"it was not received within 1e-09 s" in line for line in said} == {True}
