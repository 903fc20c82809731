"""`playout-train --dask`: a scheduler, workers and a learner as processes, which are killed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from playout.players.training.run_folder import RunFolder, ScoreRecord
from support.commands import PATIENCE_S, Command, finish, run
from support.dask_cluster import (
    DaskCluster,
    answer_later,
    play_for_ever,
    tasks_started,
    wait_for_workers,
)
from support.requirements import need_packages
from support.training import assert_each_shard_counts_once, new_run, started
from support.waiting import wait_until
from testbed.machine import children, runs

need_packages("jax", "optax", "onnx", "onnxruntime", "distributed")

SELF_PLAY = "playout.players.training.jobs"
#: Processes that wait for a job end soon when their learner was killed.
IMPATIENT = {"playout.players.training.cluster_players._IDLE_S": 0.5}

#: A worker that begins shards, and completes none.
STUCK = {"playout.players.training.jobs._reply": play_for_ever}
#: A worker that answers no question.
SILENT = {"platform.python_version": play_for_ever}
OUTDATED = {"platform.python_version": partial(str, "3.9.1")}


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    cluster = DaskCluster(tmp_path, 0)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(empty: DaskCluster) -> DaskCluster:
    """A scheduler and two workers, and one with another Python."""
    for changed in (IMPATIENT, IMPATIENT, OUTDATED):
        empty.start_worker(changed=changed)
    wait_for_workers(empty, 3)
    return empty


@pytest.fixture
def learner(tmp_path: Path, cluster: DaskCluster) -> Iterator[Learner]:
    """A learner that has completed a round on the cluster."""
    learner = Learner(new_run(tmp_path / "run"), cluster, tmp_path / "learner.log")
    try:
        yield learner
    finally:
        learner.kill()


class Learner:
    """A learner on the cluster, whose output is a file."""

    def __init__(self, folder: RunFolder, cluster: DaskCluster, log: Path, rounds: int = 1) -> None:
        """Wait until `rounds` rounds are complete."""
        self.folder = folder
        self._log = log
        with log.open("ab") as out:
            more = ("--dask", cluster.address)
            self.process: Command = started(folder, "run", 1000, rounds, *more, stdout=out)

    def kill(self) -> None:
        self.process.kill()
        finish(self.process)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def worker_that(self, said: str) -> str:
        """The address of the worker of which that was said."""
        (address,) = re.findall(rf"Worker (\S+) {said}", self.log)
        return str(address)

    def until_said(self, text: str) -> None:
        self.until(lambda: text in self.log, text)

    def until_rounds(self, more: int) -> None:
        """Wait until `more` further rounds are complete."""
        wanted = len(self.folder.records()) + more
        self.until(lambda: len(self.folder.records()) >= wanted, f"{wanted} rounds")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        wait_until(lambda: condition() or self.process.poll() is not None, what, PATIENCE_S)
        assert self.process.poll() is None, self.log


def playing(cluster: DaskCluster) -> list[int]:
    """The processes of all workers that play."""
    found = [child for worker in cluster.workers for child in children(worker.pid)]
    return [each for each in found if runs(each, SELF_PLAY)]


def evaluated(folder: RunFolder, *more: str) -> ScoreRecord:
    """An evaluation in which nothing is left to chance."""
    words = ("--pairs", "3", "--simulations", "8", "--options", "seed=1,backend=onnxruntime")
    code, output = run("playout-train", "evaluate", str(folder.path), *words, *more)
    assert code == 0, output
    return folder.scores()[-1]


def test_a_training_survives_the_loss_of_workers_and_scheduler_and_is_evaluated_as_on_one_machine(
    cluster: DaskCluster, learner: Learner
) -> None:
    folder = learner.folder
    assert "it runs Python 3.9.1, and the runner" in learner.log
    assert "Playing on 2 workers, 2 cores" in learner.log
    cluster.kill_worker(0)
    learner.until_said("is gone: 1 core left")
    learner.until_rounds(1)
    cluster.start_worker(changed=SILENT)  # which the others do not wait for
    cluster.start_worker(changed=STUCK)
    learner.until_said("has joined: 2 cores")
    cluster.kill_worker(0)
    stuck = learner.worker_that("has joined: 2 cores")
    learner.until(lambda: tasks_started(cluster, stuck) > 0, "a shard on the worker that is left")
    cluster.kill_worker(-1)
    learner.until_said("is gone: none is left; waiting for one to join")
    cluster.start_worker(changed=IMPATIENT)
    learner.until_said("has joined: 1 core")
    learner.until_rounds(1)
    cluster.kill_scheduler()
    learner.until_said("No connection to the scheduler of Dask at")
    cluster.start_scheduler()
    cluster.start_worker(changed=IMPATIENT)
    learner.until_said("Connected to the scheduler of Dask at")
    learner.until_rounds(2)  # all shards of one round may have been back before
    assert "Traceback" not in learner.log
    learner.kill()
    wait_until(lambda: not playing(cluster), "the end of self-play without a learner", PATIENCE_S)
    assert_each_shard_counts_once(folder)
    shards = {f"{name}.npz": folder.read_shard(name) for name in folder.shards()}
    for record in folder.records():
        assert {shards[name].net for name in record.shards} == {record.round - 1}
        assert record.stale == 0
    assert evaluated(folder) == evaluated(folder, "--dask", cluster.address)


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("", "needs the address of a scheduler, or local"),
        ("Local", "missing port number in address 'Local'"),
        ("http://127.0.0.1:1", "unknown address scheme 'http'"),
        ("tcp://127.0.0.1:1", "there is no scheduler of Dask at tcp://127.0.0.1:1"),
        ("tls://127.0.0.1:1", "Dask has no certificates for tls://127.0.0.1:1"),
    ],
)
def test_dask_without_a_scheduler_is_one_line(tmp_path: Path, address: str, fault: str) -> None:
    folder = new_run(tmp_path / "run")
    impatient = {"playout.cluster.cluster.CONNECT_S": 0.5}
    code, output = run(
        "playout-train", "run", str(folder.path), "--dask", address, changed=impatient
    )
    assert code in (1, 2)
    assert fault in " ".join(output.split())
    assert "Traceback" not in output


def test_a_worker_that_does_not_answer_gets_no_tasks(tmp_path: Path, empty: DaskCluster) -> None:
    empty.start_worker(changed=SILENT)
    wait_for_workers(empty, 1)
    folder = new_run(tmp_path / "run")
    impatient = {"playout.cluster.cluster.ANSWER_S": 0.5}
    words = ("run", str(folder.path), "--dask", empty.address)
    code, output = run("playout-train", *words, changed=impatient)
    assert code == 1
    assert "it cannot be checked: it has not answered for 0.5 s" in output
    assert "no worker of the cluster can run the tasks" in output
    assert "Traceback" not in output


def test_a_scheduler_that_is_lost_at_the_start_is_one_line(
    tmp_path: Path, empty: DaskCluster
) -> None:
    empty.start_worker(changed={"platform.python_version": partial(answer_later, tmp_path)})
    wait_for_workers(empty, 1)
    learner = Learner(new_run(tmp_path / "run"), empty, tmp_path / "learner.log", rounds=0)
    learner.until((tmp_path / "asked").exists, "the first question to the worker")
    empty.kill_scheduler()
    finish(learner.process)
    assert learner.process.returncode == 1
    assert f"the scheduler of Dask at {empty.address} is lost: start it again" in learner.log
    assert "Traceback" not in learner.log
