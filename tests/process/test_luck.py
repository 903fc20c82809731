"""Results without luck: tournaments with an analyst as a process, from the file to the report."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from playout import games
from playout.games import Position
from playout.players.comparison.pairs import expectation_of
from playout.ratings.luck import luck
from playout.server.storage import Database
from support.commands import run

SPEC = """
name = "dice"
games = ["pig"]
format = "sprt"
rounds = 3
clock = "none"
sprt = {{ elo0 = 0, elo1 = 5, without_luck = true }}
openings = {{ plies = 2 }}
{more}
[[entrants]]
name = "Ann"
player = "random"
[[entrants]]
name = "Bob"
player = "random"
"""


def test_a_tournament_ends_with_the_luck_of_its_matches(tmp_path: Path) -> None:
    """The luck is that of an independent replay of the stored matches."""
    file = tmp_path / "SPEC.toml"
    file.write_text(SPEC.format(more=""))
    database = f"sqlite:///{tmp_path}/t.db"
    code, output = run("playout-tournament", "run", str(file), "--database", database)
    assert code == 0, output
    assert "score without luck" in output
    code, output = run("playout-tournament", "report", "--format", "json", "--database", database)
    (both,) = json.loads(output)["head_to_head"]
    assert both["without_luck"]["pairs"] == len(both["test"]["llrs"]) == 3
    assert both["test"]["without_luck"]
    game, total = games.load("pig"), 0.0
    with contextlib.closing(Database(database)) as stored:
        matches = list(stored.matches())
    assert len(matches) == 6
    for each in matches:
        assert each.ended
        position = Position(game, (move.action for move in each.moves))
        found = luck(position, expectation_of(game), each.started.opening)
        assert sum(each.ended.luck_of_rolls or ()) == pytest.approx(found, abs=1e-2)
        is_first = each.started.players[0] == "Ann"
        points = each.ended.returns[0 if is_first else 1]
        total += points - (found if is_first else -found)
    assert both["without_luck"]["score"] == pytest.approx(total / 6, abs=1e-3)


def test_an_evaluation_that_is_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "SPEC.toml"
    file.write_text(SPEC.format(more='evaluation = "pig.npz"'))
    code, output = run("playout-tournament", "run", str(file))
    assert code == 2, output
    assert "pig.npz is no file; expected one made by playout-train export" in output
