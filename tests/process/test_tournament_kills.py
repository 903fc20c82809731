"""A tournament whose processes are killed repeatedly has the results of an undisturbed one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.commands import start
from support.scale import repetitions
from testbed.killed_tournament import play_tournament, violations

SPEC = """
name = "killed"
games = ["tic_tac_toe", "nim"]
format = "round_robin"
rounds = {rounds}
clock = "2/move"
concurrency = 2
seed = 3
openings = {{ plies = 1 }}
[[entrants]]
name = "flat"
player = "flat(time=0.1)"
[[entrants]]
name = "uct"
player = "uct(time=0.1,solver=false)"
[[entrants]]
name = "random"
player = "random"
"""


@pytest.mark.long
def test_kills_leave_the_same_matches(tmp_path: Path) -> None:
    text = SPEC.format(rounds=repetitions(2, short=1))
    kills = repetitions(3, short=2)
    tournament = partial(start, "playout-tournament")
    played = play_tournament(text, tmp_path, kills=kills, seed=8, start=tournament)
    assert played.kills.total() >= kills - 1, (tmp_path / "log").read_text()
    assert violations(played.stored) == []
