"""`playout-lab tune`: a player's option is tuned, and a killed tuning goes on."""

from __future__ import annotations

import re
import signal
import tomllib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click import UsageError

from playout.games import load
from playout.laboratory.lab_file import Conditions
from playout.laboratory.tuning import LearnedPair, TunedProgram, TuningTerms
from playout.players import Limit
from playout.players.comparison.pairs import PlayedPair
from playout.players.evaluations import files
from playout.players.evaluations.perceptron import new_perceptron
from playout.protocol.tournament_spec import Entrant
from playout.ratings.book import Book
from playout.ratings.pairs import PairScore
from playout.ratings.spsa import TunedParameter
from support.commands import finish, run, start
from support.waiting import wait_until

LAB = """\
games = ["tic_tac_toe"]
openings = { plies = 1 }

[parameters]
c = { range = [0.1, 2.0], start = 1.4 }
"""


def learned(tmp_path: Path) -> list[LearnedPair]:
    return [
        msgspec.json.decode(line, type=LearnedPair)
        for path in tmp_path.glob("laboratories/*/tunings/*/steps.jsonl")
        for line in path.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    ]


@pytest.mark.long
def test_a_killed_tuning_goes_on_and_counts_each_pair_once(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    words = ("playout-lab", "tune", "uct", "--folder", str(tmp_path), "--simulations", "20",
             "--pairs", "150", "--confirm", "4",
             "--laboratories", str(tmp_path / "laboratories"))  # fmt: skip
    process = start(*words)
    wait_until(lambda: len(learned(tmp_path)) >= 4 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    finish(process)
    before = learned(tmp_path)
    assert len(before) >= 4  # all, if they were played before the kill
    code, output = run(*words)
    assert code in (0, 1), output
    assert "of 150 pairs are known" in output
    assert "Start: uct(c=1.4)\nTuned: uct(c=" in output
    assert "Tuned against the start, 4 fresh pairs: 8 games" in output
    assert "The tuned values are not shown to be stronger" in output
    drawn = Path(re.search(r"after each pair: (\S+)", output)[1]).read_text()  # type: ignore[index]
    assert "c after each pair; tuned: " in drawn
    assert "<polyline" in drawn
    after = learned(tmp_path)
    assert after[: len(before)] == before
    assert sorted(each.step for each in after) == list(range(150))
    assert output.splitlines()[-1:] == run(*words)[1].splitlines()[-1:]


def test_what_cannot_be_tuned_is_said(tmp_path: Path) -> None:
    for text, said in (
        ('games = ["tic_tac_toe"]\n', "there is nothing to tune"),
        (LAB.replace("1.4", "2.4"), "a start within the range"),
        (LAB.replace("c =", "d ="), "unknown option of uct 'd'"),
    ):
        (tmp_path / "lab.toml").write_text(text)
        code, output = run("playout-lab", "tune", "uct", "--folder", str(tmp_path),
                           "--laboratories", str(tmp_path / "laboratories"))  # fmt: skip
        assert code != 0
        assert said in " ".join(output.split()), output


def test_a_tuning_with_another_evaluation_is_another_tuning(tmp_path: Path) -> None:
    game = load("pig")
    terms = {}
    for name, seed in (("shipped", 0), ("e.npz", 1), ("e.npz", 2)):
        if seed:
            files.write(tmp_path / name, new_perceptron(game, seed), files.Card(game="pig"))
        parameters = (TunedParameter("c", 0.1, 2.0, 1.4),)
        conditions = Conditions(games=("pig",), evaluation=name, parameters=parameters)
        found = TuningTerms.of("uct", conditions, tmp_path, Limit(simulations=5), 4)
        named = name if name == "shipped" else str(tmp_path / name)
        sides = ({"c": 1.0}, {"c": 2.0})
        assert found.step(0, sides, Book("pig", found.openings, 1)).task.evaluation == named
        terms[found.digest] = found
    assert len(terms) == 3
    pair = PlayedPair(PairScore(1.0, 0.5), (1, 1), (0.0, 0.0), luck=0.25)
    without = replace(found, without_luck=True)
    assert (found.points(pair), without.points(pair)) == (1.5, 1.25)
    assert without.digest not in terms
    (tmp_path / "e.npz").unlink()
    with pytest.raises(UsageError, match=r"e\.npz cannot be read"):
        TuningTerms.of("uct", conditions, tmp_path, Limit(simulations=5), 4)


BOT = """\
import json, os, random, sys

for line in sys.stdin:
    position = json.loads(line)
    legal = position["legal_actions"]
    good = [each for each in (4, 0, 2, 6, 8) if each in legal]
    wise = float(sys.argv[1].partition("=")[2]) * float(os.environ["HALF"])
    print(random.choice(good or legal) if random.random() < wise else legal[-1], flush=True)
"""
BOT_LAB = """\
games = ["tic_tac_toe"]
isolate = "never"

[parameters]
wise = { range = [0.0, 1.0], start = 0.1, argument = "--wise={}" }
half = { range = [0.5, 1.0], start = 0.5, environment = "HALF" }
"""


@pytest.mark.long
def test_a_bot_gets_its_values_by_arguments_and_its_environment(tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    folder.mkdir()
    (folder / "bot.py").write_text(BOT)
    (folder / "run.sh").write_text('#!/bin/sh\nHALF=${HALF:-1} exec python3 bot.py "${1:-x=1}"\n')
    (folder / "bot.toml").write_text('protocol = "lines"\ncommand = "sh run.sh"\n')
    (folder / "lab.toml").write_text(BOT_LAB)
    words = ("playout-lab", "tune", "--folder", str(folder), "--pairs", "6", "--time", "5",
             "--confirm", "2", "--laboratories", str(tmp_path / "laboratories"),
             "--file", str(folder / "lab.toml"))  # fmt: skip
    code, output = run(*words)
    assert code in (0, 1), output
    assert "Start: bot(wise=0.1,half=0.5)\nTuned: bot(" in output
    assert "2 fresh pairs: 4 games" in output
    assert "6 of 6 pairs are known" in run(*words)[1]
    assert "say how the bot gets its value" in _refused(folder, ', argument = "--wise={}"', "")
    assert "wise must be {" in _refused(folder, "--wise={}", "--wise")
    assert "--simulations limits players" in run(*words, "--simulations", "3")[1]


def _refused(folder: Path, old: str, new: str) -> str:
    other = folder.parent / "other.toml"
    other.write_text(BOT_LAB.replace(old, new))
    code, output = run("playout-lab", "tune", "--folder", str(folder), "--file", str(other),
                       "--laboratories", str(folder.parent / "laboratories"))  # fmt: skip
    assert code != 0
    return " ".join(output.split())


def test_an_engine_gets_its_values_as_options() -> None:
    entrant = Entrant("bot", "", command="engine --uci", protocol="uci", folder="/bots")
    parameter = TunedParameter("hash", 1, 64, 16, whole=True, passed="setoption", target="Hash")
    table = tomllib.loads(TunedProgram(entrant, None).table([parameter], {"hash": 31.7}))
    assert table["program"]["options"] == {"Hash": "32"}
    assert table["program"]["command"] == "engine --uci"
