"""`playout-lab tune`: a player's option is tuned, and a killed tuning goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec

from playout.laboratory.tuning import LearnedPair
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


def test_a_killed_tuning_goes_on_and_counts_each_pair_once(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    words = ("playout-lab", "tune", "uct", "--folder", str(tmp_path), "--simulations", "20",
             "--pairs", "150", "--laboratories", str(tmp_path / "laboratories"))  # fmt: skip
    process = start(*words)
    wait_until(lambda: len(learned(tmp_path)) >= 4 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    finish(process)
    before = learned(tmp_path)
    assert 4 <= len(before) < 150
    code, output = run(*words)
    assert code == 0, output
    assert "of 150 pairs are known" in output
    assert "Start: uct(c=1.4)\nTuned: uct(c=" in output
    assert 'playout-tournament compare "uct(c=' in output
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
