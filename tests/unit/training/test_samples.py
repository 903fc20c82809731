from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from playout import games
from playout.players.training import TrainingError, settings
from playout.players.training.run_folder import RunFolder, packed_shard
from playout.players.training.samples import Played, Samples, Shard, ShardName, joined

GAME = games.load("mnk(m=3,n=3,k=3)")
NAME = ShardName(1, 0)
PLAYED = Played(games=2, positions=3, evaluations=40, plies=12, net_seconds=0.5, seconds=1.0)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", settings.defaults(GAME))


def some_samples(n: int = 3) -> Samples:
    states = np.array([GAME.initial_state()] * n, dtype=np.int64)
    states[:, -1] = 2**52 + 1  # as large as a hash
    policy = np.full((n, GAME.num_actions), 1 / GAME.num_actions, dtype=np.float32)
    zeros = np.zeros(n, dtype=np.float32)
    return Samples(states, np.full(n, -1, dtype=np.int16), policy, zeros, zeros + 0.25)


def test_a_shard_is_read_as_it_was_written(folder: RunFolder) -> None:
    path = folder.path / "shards" / "0001-0.npz"
    folder.write_shard(NAME, packed_shard(Shard(some_samples(), PLAYED), GAME))
    read = folder.read_shard(NAME)
    assert read.played == PLAYED
    for array, written in zip(read.samples, some_samples(), strict=True):
        np.testing.assert_array_equal(array, written)
        assert array.dtype == written.dtype
    assert [each.name for each in path.parent.iterdir()] == ["0001-0.npz"]


def test_a_shard_that_was_cut_anywhere_is_refused(folder: RunFolder) -> None:
    path = folder.path / "shards" / "0001-0.npz"
    folder.write_shard(NAME, packed_shard(Shard(some_samples(), PLAYED), GAME))
    whole = path.read_bytes()
    for size in range(0, len(whole), 101):
        path.write_bytes(whole[:size])
        with pytest.raises(TrainingError, match=r"0001-0.npz: is damaged"):
            folder.read_shard(NAME)


def test_a_shard_with_a_changed_byte_is_refused(folder: RunFolder) -> None:
    path = folder.path / "shards" / "0001-0.npz"
    folder.write_shard(NAME, packed_shard(Shard(some_samples(300), PLAYED), GAME))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(TrainingError, match=r"0001-0.npz: "):
        folder.read_shard(NAME)


def test_a_shard_of_another_game_is_refused(folder: RunFolder) -> None:
    folder.write_shard(NAME, packed_shard(Shard(some_samples(), PLAYED), GAME))
    folder.settings_file.write_text('game = "nim"')
    with pytest.raises(TrainingError, match=r"has samples of mnk.*expected nim"):
        RunFolder.open(folder.path).read_shard(NAME)


def test_a_shard_with_numbers_that_are_not_finite_is_refused(folder: RunFolder) -> None:
    samples = some_samples()
    samples.outcome[1] = np.nan
    folder.write_shard(NAME, packed_shard(Shard(samples, PLAYED), GAME))
    with pytest.raises(TrainingError, match="outcome has"):
        folder.read_shard(NAME)


def test_samples_are_joined_in_order() -> None:
    both = joined([some_samples(2), some_samples(1)._replace(outcome=np.ones(1, np.float32))])
    assert both.positions == 3
    assert both.outcome.tolist() == [0, 0, 1]


def test_counts_are_added() -> None:
    assert Played(4, 6, 80, 24, net_seconds=1.0, seconds=2.0) == PLAYED + PLAYED
