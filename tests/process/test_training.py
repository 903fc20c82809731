"""`playout-train` as a process: a small training is killed, interrupted and resumed."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from playout import games
from playout.players.training.run_folder import NetRound, RunFolder
from support import scale
from support.commands import finish, invoke, run
from support.processes import is_gone
from support.requirements import need_packages
from support.training import (
    GAME,
    SMALL,
    assert_nothing_is_lost,
    new_run,
    resumed_after_a_full_disk,
    started,
)
from support.waiting import wait_until
from testbed.machine import children

need_packages("jax", "optax", "onnx", "onnxruntime")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """The folder of a new run."""
    return new_run(tmp_path / "run")


def resumed(folder: RunFolder, rounds: int) -> str:
    code, output = run("playout-train", "resume", str(folder.path), "--rounds", str(rounds))
    assert code == 0, output
    return output


def test_a_training_goes_on_after_kill_9_of_all_its_processes(folder: RunFolder) -> None:
    process = started(folder, "run", rounds=50, at=1)
    workers = children(process.pid)
    process.kill()
    finish(process)
    wait_until(lambda: all(map(is_gone, workers)), "the end of the workers")
    done = len(folder.records())
    output = resumed(folder, rounds=done + 2)
    assert f"Found: {done} complete round" in output or f"Found: {done + 1} complete" in output
    assert_nothing_is_lost(folder, done + 2)


def test_steps_that_were_taken_are_not_counted_anew_with_other_settings(folder: RunFolder) -> None:
    assert run("playout-train", "run", str(folder.path), "--rounds", "1")[0] == 0
    text = folder.settings_file.read_text()
    changed = text.replace("positions_per_step = 24", "positions_per_step = 6")
    assert changed != text
    folder.settings_file.write_text(changed)
    resumed(folder, rounds=2)
    first, second = (each for each in folder.records() if isinstance(each, NetRound))
    assert first.steps == first.positions // 24
    assert second.steps - first.steps == second.positions // 6 - first.positions // 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("seed=3", "--set seed=3: give it as --seed"),
        ("net.blocks=x", "--set net.blocks=x: blocks: must be a whole number"),
        ("net.blocks=900", "--set net.blocks=900: blocks: must be a whole number"),
        ("net.block=1", "--set net.block=1: unknown key of [net] 'block'"),
        ("net.blocks", "--set needs TABLE.KEY=VALUE, not 'net.blocks'"),
    ],
)
def test_a_setting_that_cannot_be_is_named(tmp_path: Path, change: str, message: str) -> None:
    words = (GAME, str(tmp_path / "run"), "--set", "limits.rounds=3", "--set", change)
    code, output = invoke("playout-train", "new", *words)
    assert code in (1, 2)
    assert message in output
    assert not (tmp_path / "run").exists()


def test_an_author_needs_no_quotes(tmp_path: Path) -> None:
    words = ("--set", "author=Søren O'Brien", "--set", "licence=MIT")
    code, output = invoke("playout-train", "new", GAME, str(tmp_path / "run"), *words)
    assert code == 0, output
    assert RunFolder.open(tmp_path / "run").settings.author == "Søren O'Brien"


def test_a_training_goes_on_without_a_worker_that_was_killed(folder: RunFolder) -> None:
    process = started(folder, "run", rounds=4, at=1)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    code, output = finish(process)
    assert code == 0, output
    assert_nothing_is_lost(folder, 4)


if scale.slow:  # it needs the right to make a file system, which not all machines give

    def test_a_training_on_a_full_disk_goes_on_when_there_is_space(
        folder: RunFolder, tmp_path: Path
    ) -> None:
        after = resumed_after_a_full_disk(folder, tmp_path / "disk", size="300k")
        assert_nothing_is_lost(after, len(after.records()))


def test_ctrl_c_ends_a_training_with_one_line_that_says_how_to_continue(folder: RunFolder) -> None:
    process = started(folder, "run", rounds=50, at=1)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    code, output = finish(process)
    assert code == 130
    assert output.rstrip().endswith(f"Interrupted. Continue: playout-train resume {folder.path}")
    assert "Traceback" not in output
    wait_until(lambda: all(map(is_gone, workers)), "the end of the workers")


def test_one_worker_and_one_backend_give_the_same_net_for_a_seed(tmp_path: Path) -> None:
    nets = list(trained_twice(tmp_path))
    assert nets[0] == nets[1]


def trained_twice(path: Path) -> Iterator[bytes]:
    """The parameters of two trainings with the same settings."""
    for name in ("first", "second"):
        folder = path / name
        changes = [word for each in SMALL for word in ("--set", each)]
        for words in (
            ("new", GAME, str(folder), *changes),
            ("run", str(folder), "--rounds", "2", "--workers", "1"),
        ):
            code, output = run("playout-train", *words)
            assert code == 0, output
        checkpoint = RunFolder.open(folder).read_checkpoint()
        assert checkpoint
        yield b"".join(value.tobytes() for value in checkpoint.parameters.values())


def test_a_trained_net_is_exported_with_its_metadata(folder: RunFolder, tmp_path: Path) -> None:
    assert run("playout-train", "run", str(folder.path), "--rounds", "1")[0] == 0
    code, output = run("playout-train", "status", str(folder.path))
    assert code == 0
    assert "1 block" in output
    assert "0001.onnx" in output
    file = tmp_path / "my net (1).onnx"
    code, output = run("playout-train", "export", str(folder.path), str(file), "--author", "Ada")
    assert code == 0, output
    from playout.players.nets import net

    printed = shlex.split(output.partition("play with it: ")[2])
    assert printed == ["playout-player", GAME, f"alphazero(net={file})"]
    loaded = net.load(file, games.load(GAME), backend="onnxruntime")
    assert loaded.metadata["author"] == "Ada"
    assert "1 round" in loaded.metadata["trained"]


def test_a_net_that_no_option_could_name_is_not_written(folder: RunFolder, tmp_path: Path) -> None:
    file = tmp_path / "a,b.onnx"
    code, output = run("playout-train", "export", str(folder.path), str(file))
    assert code == 2
    assert "has a comma" in output
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("export", "{run}", "{run}/settings.toml"), "does not end in .onnx"),
        (("export", "{run}", "{run}/nets/0000.onnx"), "belongs to the run"),
        (("resume", "{run}", "--rounds", "0"), "0 is not in the range"),
        (("resume", "{run}", "--minutes", "0"), "0.0 is not in the range"),
        (("resume", "{run}", "--evaluations", "0.5"), "0.5 is not in the range"),
        (("resume", "{run}", "--workers", "2000"), "2000 is not in the range"),
        (("new", "nim", "{run}2", "--seed", str(2**63)), "is not in the range"),
        (("evaluate", "{run}"), "there is no net yet"),
    ],
)
def test_invalid_options_of_training_are_refused(
    folder: RunFolder, words: tuple[str, ...], fault: str
) -> None:
    before = (folder.path / "settings.toml").read_bytes()
    code, output = run("playout-train", *(each.format(run=folder.path) for each in words))
    assert code in (1, 2)
    assert fault in " ".join(output.split())
    assert "Traceback" not in output
    assert (folder.path / "settings.toml").read_bytes() == before
    assert list(folder.kept.paths()) == []


def test_a_net_is_evaluated_and_the_report_has_its_elo(folder: RunFolder) -> None:
    assert run("playout-train", "run", str(folder.path), "--rounds", "1")[0] == 0
    words = ("--against", "random", "--pairs", "2", "--simulations", "4")
    code, output = run("playout-train", "evaluate", str(folder.path), *words)
    assert code == 0, output
    assert "round 1 against random, 4 simulations a move: 4 games" in output
    code, output = run("playout-train", "report", str(folder.path))
    assert code == 0, output
    assert "Elo against random" in (folder.path / "report.html").read_text(encoding="utf-8")
