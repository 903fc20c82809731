"""`playout-tournament compare`: scores, pairs of matches, workers, the command."""

from __future__ import annotations

import json
import math
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from playout.games import Position, load
from playout.players import Limit, Player, PlayResult, Report, Resigned
from playout.players.comparison.pairs import PairTask, PlayedPair, play_task, score
from playout.players.comparison.workers import run_on_cores
from playout.players.evaluations import files
from playout.players.evaluations.perceptron import new_perceptron
from playout.ratings.evidence import elo
from playout.ratings.pairs import PairScore
from playout.server.organizer.tournament_command import main

pytestmark = pytest.mark.usefixtures("copied_processes")

#: The scores of pairs with 0, 1/2 and all of the points.
LOST, EVEN, WON = PairScore(0.0, 0.0), PairScore(1.0, 0.0), PairScore(1.0, 1.0)


def test_an_interval_has_a_width_where_all_pairs_ended_alike() -> None:
    few, many = score([WON] * 2), score([WON] * 50)
    assert few.share == many.share == 1
    assert few.low < 0.5 < 0.9 < many.low
    even = score([EVEN] * 50)
    assert even.low < 0.5 < even.high


def test_the_interval_is_computed_over_pairs() -> None:
    """If the first player always wins, all pairs are even, and the interval is narrower."""
    swapped, independent = score([EVEN] * 40), score([LOST, WON] * 20)
    assert swapped.share == independent.share
    assert swapped.high - swapped.low < (independent.high - independent.low) / 2


@pytest.mark.parametrize(("strength", "pairs"), [(0.5, 100), (0.7, 100), (0.9, 100), (0.97, 100)])
def test_an_interval_holds_the_truth_as_often_as_it_says(strength: float, pairs: int) -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(1000):
        games = [float(draw.random() < strength) for _ in range(2 * pairs)]
        found = score([PairScore(*two) for two in zip(games[::2], games[1::2], strict=True)])
        held += found.low <= strength <= found.high
    assert held > 930


def test_elo_is_the_logistic_curve() -> None:
    assert elo(0.5) == 0
    assert elo(10 / 11) == pytest.approx(400)
    assert elo(1 / 11) == pytest.approx(-400)
    assert elo(0.0) is elo(1.0) is None


class Lowest(Player):
    """Plays the first legal action, and records its notifications."""

    told: list[str]

    def started(self, seat: int, opponent: str, position: Position) -> None:
        assert position.ply == 0
        self.told = [f"seat {seat}"]

    def moved(self, seat: int, position: Position) -> None:
        self.told.append(f"{seat} plays {position.last_move}")

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        assert position.ply == len(self.told) - 1
        assert self.told[0] == f"seat {position.to_move}"
        return PlayResult(position.legal_actions[0])


class Quitter(Lowest):
    """Resigns at its first move."""

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        raise Resigned


class FailingPlayer(Lowest):
    """Raises an exception at its first move."""

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        raise RuntimeError("out of ideas")


class QuittingPlayer(Lowest):
    """Ends the program at its first move."""

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        sys.exit("no key")


def test_a_pair_is_one_opening_with_colours_swapped() -> None:
    both = (f"{__name__}:Lowest", f"{__name__}:Lowest")
    pair = play_task(PairTask("connect_four", both, Limit(simulations=1), (3, 3, 2)))
    assert pair.score.total == 1
    assert pair.moves[0] == pair.moves[1]


def test_a_resignation_is_a_loss() -> None:
    both = (f"{__name__}:Lowest", f"{__name__}:Quitter")
    pair = play_task(PairTask("connect_four", both, Limit(simulations=1), (3, 3)))
    assert pair.score == (1, 1)


def test_workers_do_everything_once() -> None:
    assert sorted(run_on_cores(abs, [-3, -2, -1, 0])) == [(-3, 3), (-2, 2), (-1, 1), (0, 0)]


def test_the_failure_of_a_worker_is_reported() -> None:
    with pytest.raises(click.ClickException, match="math domain error"):
        list(run_on_cores(math.sqrt, [4.0, -1.0]))


def test_a_worker_that_is_ended_is_reported_with_its_thing() -> None:
    with pytest.raises(click.ClickException, match="7: the process ended before its work was done"):
        list(run_on_cores(os._exit, [7]))


def test_the_players_of_a_pair_that_failed_are_named() -> None:
    code, output = compare(
        f"{__name__}:QuittingPlayer", "random", "--game", "connect_four", "--pairs", "1"
    )
    assert code == 1
    assert "QuittingPlayer against random: a worker process failed" in output
    assert "it ends the program by sys.exit('no key')" in output
    assert "Traceback" not in output


def compare(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["compare", *arguments])
    return done.exit_code, done.output


def test_settings_are_compared_all_against_all(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    code, output = compare(
        "random", "uct(c=0.5)", "uct(c=1)", "--game", "nim",
        "--pairs", "2", "--simulations", "50", "--json", str(file),
    )  # fmt: skip
    assert code == 0, output
    assert "nim, 50 simulations per move" in output
    assert "Against all others" in output
    document = json.loads(file.read_text())
    assert [(row["player"], row["other"]) for row in document["matches"]] == [
        ("random", "uct(c=0.5)"),
        ("random", "uct(c=1)"),
        ("uct(c=0.5)", "uct(c=1)"),
    ]
    assert all(row["pairs"] == len(row["points"]) == 2 for row in document["matches"])


def test_a_game_with_chance_has_scores_without_luck(tmp_path: Path) -> None:
    """The points less the luck of the first player, whose mean is shown; in few pairs, too."""
    file = tmp_path / "result.json"
    result = CliRunner().invoke(main, [
        "compare", "--game", "einstein_wurfelt_nicht",
        "alphabeta(depth=1,seed=1)", "random(seed=1)",
        "--pairs", "3", "--simulations", "50", "--json", str(file),
    ])  # fmt: skip
    assert result.exit_code == 0, result.output
    (row,) = json.loads(file.read_text())["matches"]
    assert len(row["luck"]) == 3
    without = [sum(both) - luck for both, luck in zip(row["points"], row["luck"], strict=True)]
    assert row["without_luck"]["mean"] == pytest.approx(sum(without) / 6)
    assert row["without_luck"]["mean"] > 0.5
    assert "Without luck: the score less the luck" in result.output
    assert f"{row['without_luck']['mean']:.1%}" in result.output


def test_an_evaluation_can_be_named(tmp_path: Path) -> None:
    """It values the same matches differently from the one that comes with the game."""
    game, file = load("einstein_wurfelt_nicht"), tmp_path / "e.npz"
    files.write(file, new_perceptron(game, 1), files.Card(game=str(game)))
    task = PairTask(str(game), ("random(seed=1)", "random(seed=2)"), Limit(), (0, 0, 0), 1)
    shipped, named = (play_task(each) for each in (task, replace(task, evaluation=str(file))))
    assert shipped.score == named.score
    assert shipped.luck is not None
    assert named.luck is not None
    assert shipped.luck != named.luck


def test_settings_are_compared_against_one() -> None:
    code, output = compare(
        "uct(c=1)", "--against", "uct", "--game", "nim", "--pairs", "1", "--time", "0.001"
    )
    assert code == 0, output
    assert "nim, 1 ms per move" in output
    assert "Against all others" not in output


def test_the_failure_of_a_player_is_shown_with_the_results_so_far() -> None:
    code, output = compare(
        f"{__name__}:FailingPlayer", "random", "--game", "connect_four", "--pairs", "1"
    )
    assert code == 1
    assert "These are the results so far." in output
    assert "RuntimeError: out of ideas" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["utc", "random"], "did you mean 'uct'"),
        (["uct", "random", "--game", "nmi"], "unknown game"),
        (["uct"], "at least two players"),
        (["uct", "uct"], "named twice"),
        (["uct", "random", "--plies", "9"], "or the match is over"),
        (["uct(threds=2)", "random"], "unknown option"),
        (["uct", "random", "--json", "/nowhere/result.json"], "cannot write in /nowhere"),
        (["uct", "random", "--evaluation", "e.npz"], "nim(chips=5) has none"),
        (["alphabeta", "random", "--game", "pig", "--evaluation", "e.npz"], "e.npz"),
    ],
)
def test_bad_usage_of_compare_is_explained(arguments: list[str], told: str) -> None:
    code, output = compare("--game", "nim(chips=5)", *arguments)
    assert code == 2
    assert told in " ".join(output.split())


def test_the_help_of_compare_has_examples() -> None:
    code, output = compare("--help")
    assert code == 0
    assert "Examples:" in output


def test_ctrl_c_shows_the_results_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(function: object, tasks: list[PairTask], cores: int) -> Iterator[object]:
        yield tasks[0], PlayedPair(PairScore(1.0, 0.5), (10, 9), (0.5, 0.9))
        raise KeyboardInterrupt

    monkeypatch.setattr("playout.players.comparison.compare_command.run_on_cores", interrupted)
    code, output = compare("--game", "nim", "uct", "random", "--pairs", "5")
    assert code == 130
    assert "These are the results so far. Interrupted." in output
    cells = next(line for line in output.splitlines() if "random" in line).split()
    assert cells[:7] == ["uct", "random", "2", "1", "1", "0", "75.0%"]
    assert cells[-2:] == ["50.00", "100.00"]
