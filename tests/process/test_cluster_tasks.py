"""playout.players.training.cluster.cluster_tasks: tasks on workers that are slow to answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.commands import PATIENCE_S
from support.dask_cluster import DaskCluster, answer_later, report_begin, wait_for_workers
from support.requirements import need_packages
from support.waiting import wait_until

pytest.importorskip("distributed")

from playout.cluster import connection as dask
from playout.cluster.connection import DaskConnection
from playout.players.training import TrainingError
from playout.players.training.cluster import requirements
from playout.players.training.cluster.cluster_tasks import ClusterTask, ClusterTasks
from playout.players.training.settings import ProcessSettings

need_packages("onnx", "onnxruntime")

SETTINGS = ProcessSettings()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler, and a worker that answers its first question when the file `ready` is there."""
    cluster = DaskCluster(tmp_path, 0)
    try:
        late = partial(answer_later, tmp_path)
        cluster.start_worker(changed={"platform.python_version": late})
        wait_for_workers(cluster, 1)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def connection(cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[DaskConnection]:
    monkeypatch.setattr(dask, "CONNECT_S", PATIENCE_S)
    monkeypatch.setattr(dask, "ANSWER_S", PATIENCE_S)
    connection = DaskConnection(cluster.address)
    try:
        yield connection
    finally:
        connection.close()


def test_a_worker_that_answers_late_joins(
    tmp_path: Path, connection: DaskConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "ANSWER_S", 0.1)
    checked = requirements.check(connection, SETTINGS)
    assert "has not answered for 0.1 s" in requirements.table(checked)
    monkeypatch.setattr(dask, "ANSWER_S", PATIENCE_S)
    said: list[str] = []
    tasks = ClusterTasks(connection, checked, SETTINGS, said.append)
    assert tasks.cores == 0
    (tmp_path / "ready").touch()
    wait_until(lambda: joined(tasks), "the worker", PATIENCE_S)
    (line,) = said
    assert line.endswith("has joined: 1 core")


def joined(tasks: ClusterTasks) -> bool:
    tasks.poll(0.02)
    return tasks.cores == 1


def test_a_training_whose_results_never_come_ends(
    tmp_path: Path, connection: DaskConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ready").touch()
    monkeypatch.setattr(dask, "RESULT_S", 1e-9)
    said: list[str] = []
    checked = requirements.check(connection, SETTINGS)
    tasks = ClusterTasks(connection, checked, SETTINGS, said.append)
    tasks.start([ClusterTask("one", report_begin, lambda attempt: (tasks.run, attempt), print)], {})
    with pytest.raises(TrainingError, match="cannot play one: its result is lost"):
        wait_until(lambda: idle(tasks), "the end", PATIENCE_S)
    assert len(said) == 2
    assert {"it was not received within 1e-09 s" in line for line in said} == {True}


def idle(tasks: ClusterTasks) -> bool:
    tasks.poll(0.02)
    return tasks.is_idle
