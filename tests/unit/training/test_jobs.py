"""Jobs of self-play: their shards, and the processes that play them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from playout import games
from playout.players.training import TrainingError
from playout.players.training.jobs import (
    ATTEMPTS,
    Job,
    LocalPlayers,
    PlayedShard,
    ShardPlayer,
    ShardProcesses,
)
from playout.players.training.run_folder import unpacked
from playout.players.training.samples import Shard, ShardName
from playout.players.training.settings import (
    ProcessSettings,
    SelfPlaySettings,
    TrainingSettings,
    text_of,
)
from support.commands import PATIENCE_S
from support.nets import write_small_net
from support.requirements import need_packages
from support.waiting import wait_until

need_packages("onnx", "onnxruntime")

GAME = games.load("tic_tac_toe")
SELF_PLAY = SelfPlaySettings(
    games=8, simulations=16, quick_simulations=4, playout_rounds=2, playout_simulations=64
)
SETTINGS = TrainingSettings(
    GAME, self_play=SELF_PLAY, processes=ProcessSettings(backend="onnxruntime")
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A small job with the net of round 2."""
    net = write_small_net(tmp_path / "net.onnx", GAME)
    return Job(text_of(SETTINGS), ShardName(3, 0), positions=20, seed=1, net=net, net_round=2)


def shard(played: PlayedShard | None) -> Shard:
    assert played
    return Shard.of(*unpacked(played.content, "the shard", "play another"), GAME)


def same(one: PlayedShard, other: PlayedShard) -> bool:
    both = zip(shard(one).samples, shard(other).samples, strict=True)
    return all(np.array_equal(mine, its) for mine, its in both)


def test_playouts_evaluate_until_the_net_has_learned_for_some_rounds(job: Job) -> None:
    player = ShardPlayer(job.settings)
    played = [shard(player.play(replace(job, net_round=number))).played for number in range(4)]
    assert [(each.net_seconds, each.evaluations) for each in played[:2]] == [(0, 0)] * 2
    assert min(each.net_seconds for each in played[2:]) > 0
    assert min(each.evaluations for each in played[2:]) > 0


def test_a_shard_follows_from_its_job_and_the_games_that_it_continues(job: Job) -> None:
    player = ShardPlayer(job.settings)
    first = player.play(replace(job, games=b""))
    assert first.games
    second = replace(job, shard=ShardName(4, 0), seed=2)
    continued = player.play(replace(second, games=first.games))
    player.play(replace(job, seed=3, games=b""))
    assert same(player.play(replace(second, games=first.games)), continued)
    assert same(ShardPlayer(job.settings).play(replace(second, games=first.games)), continued)
    assert not same(player.play(replace(second, games=b"")), continued)


def test_a_process_that_exits_is_replaced_and_its_job_is_played(job: Job, tmp_path: Path) -> None:
    players = LocalPlayers(1, tmp_path / "log")
    try:
        players.start_processes()
        (process,) = players._processes._waiting
        process.process.kill()
        players.start([job])
        played: list[PlayedShard] = []

        def poll() -> bool:
            played.extend(players.poll(0.02))
            return players.is_idle

        wait_until(poll, "the shard", PATIENCE_S)
    finally:
        players.close()
    (one,) = played
    assert one.name == job.shard
    assert shard(one).net == 2


def test_a_job_whose_processes_always_exit_is_an_error_with_the_end_of_the_log(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[None] = []

    def own(*_: str) -> list[str]:
        begun.append(None)
        return ["sh", "-c", "echo no luck; exit 7"]

    monkeypatch.setattr("playout.players.training.jobs.own", own)
    processes = ShardProcesses(tmp_path / "log")
    with pytest.raises(TrainingError, match=r"exit with code 7 before.*has:\n  no luck"):
        processes.play(job)
    assert len(begun) == ATTEMPTS


def test_an_error_of_a_job_is_raised_where_it_was_given(job: Job, tmp_path: Path) -> None:
    processes = ShardProcesses(tmp_path / "log")
    try:
        with pytest.raises(TrainingError, match=r"net\.onnx"):
            processes.play(replace(job, net=tmp_path / "no" / "net.onnx"))
        assert processes.play(job)
    finally:
        processes.close()


def test_a_job_that_is_no_longer_wanted_ends(job: Job, tmp_path: Path) -> None:
    processes = ShardProcesses(tmp_path / "log")
    endless = replace(job, positions=500_000)
    heard: list[int] = []
    assert processes.play(endless, heard.append, lambda: not heard) is None
    assert heard[0] > 0


def test_a_process_without_a_job_ends(job: Job, tmp_path: Path) -> None:
    processes = ShardProcesses(tmp_path / "log", patience_s=0.01)
    assert processes.play(job)
    (process,) = processes._waiting
    wait_until(lambda: process.process.poll() is not None, "the end of the process", PATIENCE_S)
    assert processes.play(job)
