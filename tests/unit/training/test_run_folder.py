from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from playout import games
from playout.players.training import TrainingError, settings
from playout.players.training.run_folder import Checkpoint, RunFolder, packed_shard
from playout.players.training.samples import Played, Samples, Shard, ShardName
from support.requirements import need_packages
from support.training import round_record

need_packages("onnx")

GAME = games.load("mnk(m=3,n=3,k=3)")
SETTINGS = settings.defaults(GAME)
#: The parameters of a net.
START = SETTINGS.net.initial(GAME, np.random.default_rng(1))
SHARD = Shard(
    Samples(
        np.array([GAME.initial_state()], dtype=np.int64),
        np.array([-1], dtype=np.int16),
        np.full((1, GAME.num_actions), 1 / GAME.num_actions, dtype=np.float32),
        np.zeros(1, dtype=np.float32),
        np.zeros(1, dtype=np.float32),
    ),
    Played(games=1, positions=1),
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", SETTINGS)


def test_a_new_folder_can_be_opened_and_has_the_settings(folder: RunFolder) -> None:
    found = RunFolder.open(folder.path).settings
    assert found.game.spec == SETTINGS.game.spec  # another object, if many were loaded meanwhile
    assert replace(found, game=SETTINGS.game) == SETTINGS
    assert folder.read_checkpoint() is None
    assert folder.records() == []


def test_a_new_run_needs_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(TrainingError, match="is not empty"):
        RunFolder.create(tmp_path, SETTINGS)


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"has no settings.toml.*playout-train new"):
        RunFolder.open(tmp_path)


def test_nothing_is_made_in_a_folder_with_other_settings(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('colour = "green"\n')
    with pytest.raises(TrainingError, match="colour"):
        RunFolder.open(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["settings.toml"]


@pytest.mark.parametrize(
    "name", ["settings.toml", "checkpoint.npz", "metrics.jsonl", "lock", "nets/0001.onnx"]
)
def test_no_file_of_a_run_is_written_over(folder: RunFolder, name: str) -> None:
    output = folder.path / "nets" / ".." / name
    before = output.read_bytes() if output.exists() else None
    with pytest.raises(TrainingError, match="belongs to the run; choose another name"):
        folder.write_beside(output, b"mine")
    with pytest.raises(TrainingError, match="belongs to the run; choose another name"):
        folder.export_net(output, None, None, half=False)
    assert (output.read_bytes() if output.exists() else None) == before
    folder.write_beside(folder.path / "mine.onnx", b"mine")
    folder.write_beside(folder.path / "report.html", b"mine")
    assert (folder.path / "report.html").read_bytes() == b"mine"


def test_a_folder_is_locked_by_one_process_at_a_time(folder: RunFolder) -> None:
    with folder.locked():
        assert folder.is_training()
        with pytest.raises(TrainingError, match="another process trains here"), folder.locked():
            pass
    assert not folder.is_training()


def test_a_lock_that_cannot_be_opened_says_nothing_about_a_training(folder: RunFolder) -> None:
    (folder.path / "lock").unlink(missing_ok=True)
    (folder.path / "lock").symlink_to(folder.path / "nowhere" / "lock")
    with pytest.raises(TrainingError, match="lock: cannot be"):
        folder.is_training()


def test_a_lost_checkpoint_does_not_begin_the_run_again(folder: RunFolder) -> None:
    folder.append_record(round_record(1))
    with pytest.raises(TrainingError, match=r"checkpoint.npz: is gone, but .* 1 round; restore"):
        folder.read_checkpoint()


def test_a_checkpoint_is_read_as_it_was_written(folder: RunFolder) -> None:
    state = {"net/stem/w": np.ones(3, np.float32), "optimizer/0": np.array(7)}
    folder.write_checkpoint(Checkpoint(state, round_record(4)))
    read = folder.read_checkpoint()
    assert read
    assert read.record == round_record(4)
    assert read.parameters.keys() == {"stem/w"}
    assert read.state["optimizer/0"] == 7


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"game": games.load("mnk(m=3,n=4,k=3)")},
            r"game is mnk.*n=4.*, but the run began with mnk",
        ),
        ({"seed": 2}, "seed is 2, but the run began with 1; restore it"),
    ],
)
def test_a_run_keeps_its_game_and_its_seed(
    folder: RunFolder, change: dict[str, Any], fault: str
) -> None:
    folder.write_checkpoint(Checkpoint({}, round_record(4)))
    folder.settings_file.write_text(settings.text_of(replace(SETTINGS, **change)))
    with pytest.raises(TrainingError, match=fault):
        RunFolder.open(folder.path).read_checkpoint()


def test_a_torn_checkpoint_is_refused(folder: RunFolder) -> None:
    folder.write_checkpoint(Checkpoint({}, round_record(4)))
    path = folder.path / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TrainingError, match=r"checkpoint.npz: is damaged"):
        folder.read_checkpoint()


def test_the_record_that_was_not_written_is_restored_from_the_checkpoint(folder: RunFolder) -> None:
    folder.start(START, None)
    folder.append_record(round_record(1))
    with (folder.path / "metrics.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(round_record(2))[:30])
    folder.start(START, round_record(2))
    assert folder.records() == [round_record(1), round_record(2)]
    folder.append_record(round_record(3))
    assert folder.records() == [round_record(1), round_record(2), round_record(3)]


def test_records_after_the_checkpoint_are_removed(folder: RunFolder) -> None:
    for number in (1, 2, 3):
        folder.append_record(round_record(number))
    folder.start(START, round_record(2))
    assert folder.records() == [round_record(1), round_record(2)]


def test_shards_are_found_by_round_and_place_and_others_are_ignored(folder: RunFolder) -> None:
    for name in ("0002-1.npz", "0002-0.npz", "0010-0.npz", ".0002-2.npz.x", "notes.txt"):
        (folder.path / "shards" / name).touch()
    assert folder.shards() == [ShardName(2, 0), ShardName(2, 1), ShardName(10, 0)]


def test_the_round_that_is_complete_is_stored_and_older_shards_are_removed(
    folder: RunFolder,
) -> None:
    for number, place in ((2, 1), (2, 0), (10, 0)):
        folder.write_shard(ShardName(number, place), packed_shard(SHARD, GAME))
    assert list(folder.read_round(2)) == [ShardName(2, 0), ShardName(2, 1)]
    state = {f"net/{name}": value for name, value in START.items()}
    folder.complete_round(Checkpoint(state, round_record(10)), first_needed=3)
    assert folder.shards() == [ShardName(10, 0)]
    assert list(folder.kept.paths()) == [10]
    assert folder.records() == [round_record(10)]
    checkpoint = folder.read_checkpoint()
    assert checkpoint
    assert checkpoint.record == round_record(10)


def test_unfinished_files_are_removed(folder: RunFolder) -> None:
    folder.start(START, None)
    half = folder.kept.path(0).with_name(".0001.onnx.ab_01yz9")
    half.touch()
    assert folder.unfinished() == [half]
    folder.remove_unfinished()
    assert folder.unfinished() == []
    assert list(folder.kept.paths()) == [0]


def test_the_first_net_the_last_two_and_each_tenth_stay(folder: RunFolder) -> None:
    folder.start(START, None)
    for number in range(1, 25):
        shutil.copy(folder.kept.path(0), folder.path / "nets" / f"{number:04}.onnx")
    state = {f"net/{name}": value for name, value in START.items()}
    folder.complete_round(Checkpoint(state, round_record(24)), first_needed=1)
    assert list(folder.kept.paths()) == [0, 10, 20, 23, 24]


def test_a_net_that_was_not_kept_is_named(folder: RunFolder) -> None:
    with pytest.raises(TrainingError, match="there is no net yet"):
        folder.kept.path(0)
    folder.start(START, None)
    with pytest.raises(TrainingError, match="there is no net of round 3; kept are: 0"):
        folder.kept.path(3)
