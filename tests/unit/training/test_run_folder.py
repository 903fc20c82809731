from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playout import games
from playout.players.training import settings
from playout.players.training.run_files import TrainingError
from playout.players.training.run_folder import Checkpoint, RunFolder
from support.training import round_record

SETTINGS = settings.defaults(games.load("mnk(m=3,n=3,k=3)"))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", SETTINGS)


def test_a_new_folder_can_be_opened_and_has_the_settings(folder: RunFolder) -> None:
    found = RunFolder.open(folder.path).settings()
    assert found.game.spec == SETTINGS.game.spec  # another object, if many were loaded meanwhile
    assert replace(found, game=SETTINGS.game) == SETTINGS
    assert folder.read_checkpoint(SETTINGS) is None
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
    with pytest.raises(TrainingError, match="belongs to the run; choose another name"):
        folder.refuse_own(folder.path / "nets" / ".." / name)
    folder.refuse_own(folder.path / "mine.onnx")
    folder.refuse_own(folder.path / "report.html")


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
        folder.read_checkpoint(SETTINGS)


def test_a_checkpoint_is_read_as_it_was_written(folder: RunFolder) -> None:
    state = {"net/stem/w": np.ones(3, np.float32), "optimizer/0": np.array(7)}
    folder.write_checkpoint(Checkpoint(state, round_record(4)), SETTINGS)
    read = folder.read_checkpoint(SETTINGS)
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
    folder.write_checkpoint(Checkpoint({}, round_record(4)), SETTINGS)
    with pytest.raises(TrainingError, match=fault):
        folder.read_checkpoint(replace(SETTINGS, **change))


def test_a_torn_checkpoint_is_refused(folder: RunFolder) -> None:
    folder.write_checkpoint(Checkpoint({}, round_record(4)), SETTINGS)
    path = folder.path / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TrainingError, match=r"checkpoint.npz: is damaged"):
        folder.read_checkpoint(SETTINGS)


def test_the_record_that_was_not_written_is_restored_from_the_checkpoint(folder: RunFolder) -> None:
    folder.restore_records(None)
    folder.append_record(round_record(1))
    with (folder.path / "metrics.jsonl").open("ab") as file:
        file.write(round_record(2).line()[:30])
    folder.restore_records(round_record(2))
    assert folder.records() == [round_record(1), round_record(2)]
    folder.append_record(round_record(3))
    assert folder.records() == [round_record(1), round_record(2), round_record(3)]


def test_records_after_the_checkpoint_are_removed(folder: RunFolder) -> None:
    for number in (1, 2, 3):
        folder.append_record(round_record(number))
    folder.restore_records(round_record(2))
    assert folder.records() == [round_record(1), round_record(2)]


def test_shards_are_found_by_round_and_place_and_others_are_ignored(folder: RunFolder) -> None:
    for name in ("0002-1.npz", "0002-0.npz", "0010-0.npz", ".0002-2.npz.x", "notes.txt"):
        (folder.path / "shards" / name).touch()
    assert list(folder.shards(2)) == [0, 1]
    assert folder.shards(10) == {0: folder.shard(10, 0)}
    folder.forget_shards(before=10)
    assert folder.shards(2) == {}
    assert list(folder.shards(10)) == [0]


def test_unfinished_files_are_removed(folder: RunFolder) -> None:
    folder.net(1).touch()
    half = folder.net(1).with_name(".0001.onnx.ab_01yz9")
    half.touch()
    assert folder.unfinished() == [half]
    folder.remove_unfinished()
    assert folder.unfinished() == []
    assert list(folder.nets()) == [1]


def test_the_first_net_the_last_two_and_each_tenth_stay(folder: RunFolder) -> None:
    for number in range(25):
        folder.net(number).touch()
    folder.forget_nets(24, keep_every=10)
    assert list(folder.nets()) == [0, 10, 20, 23, 24]
