"""Runs that learn an evaluation, as processes: killed, interrupted, resumed, exported, played."""

from __future__ import annotations

import shlex
import signal
from itertools import pairwise
from pathlib import Path

import pytest

from playout import games
from playout.players.evaluations import files
from playout.players.training.run_folder import RunFolder
from support import scale
from support.commands import PATIENCE_S, finish, finish_all, invoke, run, running_server, start
from support.training import GAME, resumed_after_a_full_disk, started
from support.waiting import wait_until


def new_evaluation(path: Path, *more: str, round_s: float = 0.1, game: str = GAME) -> RunFolder:
    """The folder of a new run with rounds of some seconds."""
    rounds = ("--set", f"processes.seconds_per_round={round_s}")
    kind = () if games.load(game).has_chance else ("--evaluation",)  # the default with dice
    code, output = invoke("playout-train", "new", game, str(path), *kind, *rounds, *more)
    assert code == 0, output
    return RunFolder.open(path)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return new_evaluation(tmp_path / "run")


def commanded(command: str, folder: RunFolder, *words: str) -> str:
    code, output = run("playout-train", command, str(folder.path), *words)
    assert code == 0, output
    return output


def assert_complete(folder: RunFolder) -> None:
    """Assert that each round is recorded once, and that the newest evaluation can be used."""
    records = folder.records()
    assert [each.round for each in records] == list(range(1, len(records) + 1))
    assert all(one.games < next_.games for one, next_ in pairwise(records))
    checkpoint = folder.read_checkpoint()
    assert checkpoint
    assert checkpoint.record == records[-1]
    assert folder.unfinished() == []
    _, card = files.read(folder.kept.path(len(records)), games.load(GAME))
    assert card.games == records[-1].games


def test_a_run_continues_after_kill_9(folder: RunFolder) -> None:
    process = started(folder, "run", rounds=1000, at=2)
    process.kill()
    finish(process)
    done = len(folder.records())
    output = commanded("resume", folder, "--rounds", str(done + 2))
    assert f"Found: {done} complete round" in output or f"Found: {done + 1} complete" in output
    assert_complete(folder)


def test_ctrl_c_says_how_to_continue(folder: RunFolder) -> None:
    process = started(folder, "run", rounds=1000, at=1)
    process.send_signal(signal.SIGINT)
    code, output = finish(process)
    assert code == 130
    assert output.rstrip().endswith(f"Interrupted. Continue: playout-train resume {folder.path}")
    assert "Traceback" not in output


def test_one_process_at_a_time_learns_in_a_folder(folder: RunFolder) -> None:
    process = started(folder, "run", rounds=1000, at=1)
    assert "a process trains" in commanded("status", folder)
    code, output = run("playout-train", "resume", str(folder.path))
    assert code == 1
    assert "another process trains here" in output
    process.kill()
    finish(process)


if scale.slow:  # it needs the right to make a file system, which not all machines give

    def test_a_full_disk_loses_no_complete_round(tmp_path: Path) -> None:
        folder = new_evaluation(tmp_path / "run", "--set", "processes.keep_every=1")
        assert_complete(resumed_after_a_full_disk(folder, tmp_path / "disk", size="80k"))


@pytest.mark.parametrize("game", [GAME, "pig(winscore=20)"])
def test_the_result_of_one_worker_is_the_same_also_after_interruptions(
    game: str, tmp_path: Path
) -> None:
    one, interrupted = (
        new_evaluation(tmp_path / name, game=game) for name in ("one", "interrupted")
    )
    limits = ("--games", "6000", "--workers", "1")
    commanded("run", one, *limits)
    process = start("playout-train", "run", str(interrupted.path), *limits)
    wait_until(lambda: len(interrupted.records()) > 0, "a round", PATIENCE_S)
    process.kill()
    finish(process)
    commanded("resume", interrupted, *limits)
    checkpoint = interrupted.complete_checkpoint()
    assert checkpoint.record.games == 6000
    same = one.complete_checkpoint().state
    assert all((same[name] == each).all() for name, each in checkpoint.state.items())


def test_a_learned_evaluation_is_exported_and_plays(tmp_path: Path) -> None:
    folder = new_evaluation(tmp_path / "run", round_s=600)
    commanded("run", folder, "--games", "200")
    assert "evaluations/0001.npz" in commanded("status", folder)
    file = tmp_path / "small.npz"
    output = commanded("export", folder, str(file), "--author", "Ada", "--licence", "MIT")
    option = f"alphabeta(evaluation={file})"
    assert shlex.split(output.partition("play with it: ")[2]) == ["playout-player", GAME, option]
    _, card = files.read(file, games.load(GAME))
    assert (card.author, card.licence) == ("Ada", "MIT")
    with running_server() as server:
        players = [
            start("playout-player", GAME, player, "--matches", "1", *server.address)
            for player in (f"alphabeta(evaluation={file},time=0.01)", "random")
        ]
        for code, output in finish_all(*players):
            assert code == 0, output


def test_a_score_is_stored_and_the_report_has_its_elo(folder: RunFolder) -> None:
    commanded("run", folder, "--games", "200")
    for opponent in ((), ("--against", str(folder.kept.path(0))), ("--against", "random")):
        output = commanded("evaluate", folder, "--pairs", "2", "--simulations", "50", *opponent)
        assert "4 games" in output
    commanded("report", folder)
    report = (folder.path / "report.html").read_text(encoding="utf-8")
    assert "Elo against round 0" in report
    assert "Elo against random" in report
    assert "Mean step size" in report


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("export", "{run}", "out.onnx"), "does not end in .npz"),
        (("export", "{run}", "{run}/evaluations/0001.npz"), "belongs to the run"),
        (("export", "{run}", "{run}2.npz"), "no round is complete"),
        (("evaluate", "{run}"), "there is no evaluation yet"),
        (("run", "{run}", "--evaluations", "5"), "an evaluation has no limit of --evaluations"),
        (("run", "{run}", "--dask", "local"), "leave out --dask"),
        (
            ("new", "open_spiel(game=oware)", "{run}2", "--evaluation"),
            "describes open_spiel(game=oware) by fractions",
        ),
        (
            ("new", GAME, "{run}2", "--evaluation", "--set", "net.blocks=3"),
            "unknown key of the settings 'net'",
        ),
        (("new", GAME, "{run}2", "--set", "kind=evaluation"), "give it as --evaluation"),
    ],
)
def test_invalid_options_of_evaluations_are_refused(
    folder: RunFolder, words: tuple[str, ...], fault: str
) -> None:
    code, output = run("playout-train", *(each.format(run=folder.path) for each in words))
    assert code in (1, 2)
    assert fault in " ".join(output.split())
    assert "Traceback" not in output
    assert not folder.kept.paths()
    assert not Path(f"{folder.path}2").exists()
