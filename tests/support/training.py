"""Small trainings, checks of their folders, and records of rounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playout.players.training.run_folder import NetRound, RunFolder
from playout.players.training.settings import LearningSettings
from support.commands import PATIENCE_S, Command, finish, invoke, start
from support.waiting import wait_until

GAME = "mnk(m=3,n=3,k=3)"
#: Rounds of a second: a net of 700 weights, few simulations, no time for choosing a runtime.
SMALL = (
    "net.blocks=1",
    "net.filters=4",
    "net.head_planes=2",
    "net.value_hidden=4",
    "self_play.games=8",
    "self_play.simulations=8",
    "self_play.quick_simulations=4",
    "learning.positions_per_round=60",
    "learning.batch=16",
    "learning.least_rounds=100",  # so that all shards stay
    "processes.backend=onnxruntime",
    "processes.workers=2",
)


def new_run(path: Path) -> RunFolder:
    """The folder of a new run with these settings."""
    changes = [word for each in SMALL for word in ("--set", each)]
    code, output = invoke("playout-train", "new", GAME, str(path), *changes)
    assert code == 0, output
    return RunFolder.open(path)


def started(
    folder: RunFolder, command: str, rounds: int, at: int, *more: str, **options: object
) -> Command:
    """A training that has completed round `at`."""
    words = (command, str(folder.path), "--rounds", str(rounds), *more)
    process = start("playout-train", *words, **options)

    def is_there() -> bool:
        return len(folder.records()) >= at or process.poll() is not None

    wait_until(is_there, f"round {at}", PATIENCE_S)
    assert process.poll() is None, finish(process)
    return process


#: In a namespace of its own: a training on a small file system, which then grows.
_FULL_DISK = """
set -e
mount -t tmpfs -o size=$4 none "$2"
cp -r "$1" "$2/run"
"$3/playout-train" run "$2/run" --rounds 1000 || echo "ended with $?"
mount -o remount,size=20m "$2"
rounds=$(wc -l < "$2/run/metrics.jsonl")
"$3/playout-train" resume "$2/run" --rounds $((rounds + 3))
cp -r "$2/run" "$1.after"
"""


def resumed_after_a_full_disk(folder: RunFolder, disk: Path, size: str) -> RunFolder:
    """Train on a disk until it is full, then on a larger one; return a copy of the folder."""
    disk.mkdir()
    words = ("unshare", "--map-root-user", "--mount", "sh", "-c", _FULL_DISK, "sh")
    done = subprocess.run(
        [*words, folder.path, disk, Path(sys.executable).parent, size],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No space left on device; free some space and try again" in done.stderr
    assert "ended with 1" in done.stdout
    return RunFolder.open(folder.path.with_suffix(".after"))


def assert_nothing_is_lost(folder: RunFolder, rounds: int) -> None:
    """Assert that each round is recorded once, and that its shards exist and count once."""
    assert len(folder.records()) == rounds
    assert_each_shard_counts_once(folder)
    records = folder.records()
    assert folder.unfinished() == []
    checkpoint = folder.read_checkpoint()
    assert checkpoint
    assert checkpoint.record == records[-1]
    assert isinstance(checkpoint.record, NetRound)
    assert checkpoint.record.steps == records[-1].positions // LearningSettings.positions_per_step


def assert_each_shard_counts_once(folder: RunFolder) -> None:
    """Assert that rounds follow each other, and that their counts are those of their shards."""
    records = [each for each in folder.records() if isinstance(each, NetRound)]
    assert [each.round for each in records] == list(range(1, len(records) + 1))
    recorded = [name for each in records for name in each.shards]
    assert len(set(recorded)) == len(recorded)
    shards = {f"{name}.npz": name for name in folder.shards()}
    assert shards.keys() >= set(recorded)
    played = [folder.read_shard(shards[name]).played for name in recorded]
    assert sum(each.positions for each in played) == records[-1].positions
    assert sum(each.games for each in played) == records[-1].games


def round_record(number: int, **values: float) -> NetRound:
    """A record of round `number` with these values and zeros elsewhere."""
    zeros = dict.fromkeys(NetRound.__struct_fields__, 0)
    shards = (f"{number:04}-0.npz",)
    return NetRound(**zeros | {"round": number} | values | {"shards": shards})
