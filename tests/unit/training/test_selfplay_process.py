"""A worker's job: which rounds are played with the net, and which with playouts."""

from __future__ import annotations

from pathlib import Path

from playout import games
from playout.players.training.run_folder import RunFolder
from playout.players.training.samples import Shard, ShardName
from playout.players.training.self_play import SelfPlaySettings
from playout.players.training.selfplay_process import Job, SelfPlayWorker
from playout.players.training.settings import TrainingSettings
from support.nets import write_small_net
from support.requirements import need_packages

need_packages("onnx", "onnxruntime")

GAME = games.load("tic_tac_toe")


def test_playouts_evaluate_until_the_net_has_learned_for_some_rounds(tmp_path: Path) -> None:
    self_play = SelfPlaySettings(
        games=8, simulations=16, quick_simulations=4, playout_rounds=2, playout_simulations=64
    )
    folder = RunFolder.create(tmp_path / "run", TrainingSettings(GAME, self_play=self_play))
    write_small_net(tmp_path / "net.onnx", GAME)
    worker = SelfPlayWorker(folder)

    def played_with_net_of(number: int) -> Shard:
        folder.put_net(number, (tmp_path / "net.onnx").read_bytes())
        shard = ShardName(number + 1, 0)
        worker.do(Job(shard, number, seed=1, positions=20))
        return folder.read_shard(shard)

    played = [played_with_net_of(number).played for number in range(4)]
    assert [(each.net_seconds, each.evaluations) for each in played[:2]] == [(0, 0)] * 2
    assert min(each.net_seconds for each in played[2:]) > 0
    assert min(each.evaluations for each in played[2:]) > 0
