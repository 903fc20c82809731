"""The basis of the benchmarks and `scripts/tune`: scores, openings, matches, workers, OpenSpiel."""

from __future__ import annotations

import json
import math
import random
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks import __main__ as bench_command
from playout import games, players
from playout.games import Position
from playout.players import Limit, Player, PlayResult, Report, Resigned, SpecError
from playout.ratings.evidence import elo
from support import scale
from testbed.bench import Column, ResultTable, output
from testbed.local_matches import (
    LocalPairing,
    PlayedPair,
    play_pair,
    result,
    run_on_cores,
    score,
)
from testbed.measure import Share
from testbed.openspiel import position
from testbed.positions import middle, opening
from testbed.tuning import main

pytestmark = pytest.mark.usefixtures("copied_processes")

ROOT = Path(__file__).parents[2]
PEER = "testbed.openspiel:MCTSBot"
GAMES = ("tic_tac_toe", "connect_four", "othello", "mnk(m=8,n=8,k=5)", "gomoku")


def test_an_interval_of_all_or_nothing_is_that_of_agresti_and_coull() -> None:
    share, low, high = score([1.0] * 9 + [0.0])
    assert share == pytest.approx(0.9)
    centre = (9 + 2) / (10 + 4)
    margin = 1.96 * math.sqrt(centre * (1 - centre) / (10 + 4))
    assert (low, high) == pytest.approx((centre - margin, min(1, centre + margin)))


def test_an_interval_has_a_width_where_all_pairs_ended_alike() -> None:
    few, many = score([1.0] * 4), score([1.0] * 50)
    assert few.share == many.share == 1
    assert few.low < 0.5 < 0.9 < many.low
    even = score([0.5] * 50)
    assert even.low < 0.5 < even.high


def test_the_interval_is_computed_over_pairs() -> None:
    """If the first player always wins, all pairs are even, and the interval is narrower."""
    swapped, independent = score([0.5] * 40), score([0.0, 1.0] * 20)
    assert swapped.share == independent.share
    assert swapped.high - swapped.low < (independent.high - independent.low) / 2


@pytest.mark.parametrize(("strength", "pairs"), [(0.5, 10), (0.7, 40), (0.9, 25), (0.97, 10)])
def test_an_interval_holds_the_truth_as_often_as_it_says(strength: float, pairs: int) -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(1000):
        games = [float(draw.random() < strength) for _ in range(2 * pairs)]
        _, low, high = score([sum(two) / 2 for two in zip(games[::2], games[1::2], strict=True)])
        held += low <= strength <= high
    assert held > 930


def test_elo_is_the_logistic_curve() -> None:
    assert elo(0.5) == 0
    assert elo(10 / 11) == pytest.approx(400)
    assert elo(1 / 11) == pytest.approx(-400)
    assert elo(0.0) is elo(1.0) is None


@pytest.mark.parametrize("spec", GAMES)
def test_openings_are_legal_repeatable_and_quiet(spec: str) -> None:
    game = games.load(spec)
    drawn = [opening(game, 4, seed) for seed in range(20)]
    assert drawn == [opening(game, 4, seed) for seed in range(20)]
    assert len({tuple(moves) for moves in drawn}) > 1
    for moves in drawn:
        state = Position(game, moves).state
        replies = [game.next_state(state, action) for action in game.legal_actions(state)]
        assert replies
        assert all(game.winner(reply) != game.current_player(state) for reply in replies)


def test_a_game_without_such_an_opening_says_so() -> None:
    with pytest.raises(click.ClickException, match="no opening of 9 plies"):
        opening(games.load("tic_tac_toe"), 9, seed=1)


@pytest.mark.parametrize("spec", [*GAMES, "ultimate_tic_tac_toe"])
def test_the_middle_of_a_match_is_the_same_for_the_peer(spec: str) -> None:
    game = games.load(spec)
    moves = middle(game)
    state, other = Position(game, moves).state, position(spec, moves)
    assert not other.is_terminal()
    assert other.current_player() + 1 == game.current_player(state)
    if spec != "ultimate_tic_tac_toe":
        assert tuple(other.legal_actions()) == game.legal_actions(state)


@pytest.mark.parametrize("spec", GAMES)
def test_the_peer_plays_legal_moves_and_beats_chance(spec: str) -> None:
    versions = (f"{PEER}(seed=1)", "random(seed=1)")
    pairing = LocalPairing(spec, versions, Limit(simulations=40), plies=2, seed=1)
    pair = play_pair(pairing)
    if spec != "gomoku":  # whose 225 moves are more than 40 simulations can tell apart
        assert sum(pair.points) >= 1
    assert min(pair.moves) > 0
    assert min(pair.seconds) > 0


@pytest.mark.parametrize("spec", ["nim", "othello(size=6)", "ultimate_tic_tac_toe"])
def test_the_peer_refuses_games_that_are_not_the_same(spec: str) -> None:
    with pytest.raises(SpecError, match="OpenSpiel"):
        players.load(PEER, games.load(spec))


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


def test_a_pair_is_one_opening_with_colours_swapped() -> None:
    both = (f"{__name__}:Lowest", f"{__name__}:Lowest")
    pair = play_pair(LocalPairing("connect_four", both, Limit(simulations=1), plies=3, seed=5))
    assert sum(pair.points) == 1
    assert pair.moves[0] == pair.moves[1]


def test_a_resignation_is_a_loss() -> None:
    both = (f"{__name__}:Lowest", f"{__name__}:Quitter")
    pair = play_pair(LocalPairing("connect_four", both, Limit(simulations=1), plies=2, seed=5))
    assert pair.points == (1, 1)


def test_a_row_counts_points_and_time() -> None:
    row = result(
        [PlayedPair((1.0, 0.5), (10, 9), (0.5, 0.9)), PlayedPair((0.0, 1.0), (10, 11), (0.5, 1.1))]
    )
    assert (row["games"], row["won"], row["tied"], row["lost"]) == (4, 2, 1, 1)
    assert row["score"] == 0.625
    assert (row["ms"], row["other_ms"]) == pytest.approx((50, 100))


def test_workers_do_everything_once() -> None:
    assert sorted(run_on_cores(abs, [-3, -2, -1, 0])) == [(-3, 3), (-2, 2), (-1, 1), (0, 0)]


def test_the_failure_of_a_worker_is_reported() -> None:
    with pytest.raises(click.ClickException, match="math domain error"):
        list(run_on_cores(math.sqrt, [4.0, -1.0]))


def tune(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, arguments)
    return done.exit_code, done.output


def test_settings_are_tuned_all_against_all(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    code, output = tune(
        "nim", "random", "uct(c=0.5)", "uct(c=1)",
        "--games", "4", "--simulations", "50", "--json", str(file),
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
    assert all(row["games"] == 4 and len(row["pairs"]) == 2 for row in document["matches"])


def test_settings_are_tuned_against_one() -> None:
    code, output = tune("nim", "uct(c=1)", "--against", "uct", "--games", "2", "--seconds", "0.001")
    assert code == 0, output
    assert "nim, 1 ms per move" in output
    assert "Against all others" not in output


def test_long_names_leave_room_for_the_numbers() -> None:
    table = ResultTable("a title", (Column("a", "player"), Column("b", "other"), Column("n", "n")))
    table.add(a=f"uct({'c=0.5,' * 40})", b="alphazero(batch=1)" * 10, n=4711)
    console = output()
    with console.capture() as shown:
        console.print(table.as_rich())
    assert "4,711" in shown.get()
    assert "".join(shown.get().split()).count("c=0.5,") > 30


def test_the_failure_of_a_player_is_shown_with_the_results_so_far() -> None:
    code, output = tune("connect_four", f"{__name__}:FailingPlayer", "random", "--games", "2")
    assert code == 1
    assert "These are the results so far." in output
    assert "RuntimeError: out of ideas" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nim", "utc", "random"], "did you mean 'uct'"),
        (["nmi", "uct", "random"], "unknown game"),
        (["nim", "uct"], "at least two players"),
        (["nim", "uct", "uct"], "named twice"),
        (["nim", "uct", "random", "--games", "3"], "must be even"),
        (["nim", "uct(threds=2)", "random"], "unknown option"),
        (["nim", "uct", "random", "--json", "/nowhere/result.json"], "cannot write in /nowhere"),
    ],
)
def test_bad_usage_of_tune_is_explained(arguments: list[str], told: str) -> None:
    code, output = tune(*arguments)
    assert code == 2
    assert told in " ".join(output.split())


def test_the_help_of_tune_has_examples() -> None:
    code, output = tune("--help")
    assert code == 0
    assert "Examples:" in output


def bench(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(bench_command.main, arguments)
    return done.exit_code, done.output


def test_truth_counts_the_moves_that_preserve_the_value(tmp_path: Path) -> None:
    """`minimax` proves all positions of tic-tac-toe, and random moves preserve what chance does."""
    file = tmp_path / "result.json"
    code, output = bench(
        *("truth", "--quick", "--games", "tic_tac_toe", "--seconds", "5"),
        *("--players", "minimax random", "--json", str(file)),
    )
    assert code == 0, output
    assert "5 s a move" in output
    (table,) = json.loads(file.read_text())["benchmarks"]["truth"]["tables"]
    (row,) = table["rows"]
    assert row["count"] == row["minimax"]["trials"] == 10
    assert row["minimax"]["share"] == 1
    assert row["random"]["share"] < 1
    assert 0 < row["chance"] < 1


if scale.slow:  # a quarter of an hour in all

    @pytest.mark.timeout(900)
    @pytest.mark.parametrize("name", bench_command.found())
    def test_a_benchmark_measures_something(name: str, tmp_path: Path) -> None:
        """Whether it meets its targets is not asked: other work disturbs it."""
        file = tmp_path / "result.json"
        command = [ROOT / "scripts" / "bench", name, "--quick", "--json", file]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert file.exists(), done.stderr
        tables = json.loads(file.read_text())["benchmarks"][name]["tables"]
        assert all(table["rows"] for table in tables)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["truth", "--games", "tic_tac_toe nmi"], "no positions of nmi; expected some of"),
        (["truth", "--games", "tic_tac_toe", "--players", "utc"], "did you mean 'uct'"),
        (["truth", "--seconds", "0"], "not in the range"),
        (["search", "--players", "uct"], "options of truth only"),
    ],
)
def test_bad_usage_of_truth_is_explained(arguments: list[str], told: str) -> None:
    code, output = bench(*arguments)
    assert code == 2
    assert told in " ".join(output.split())


def test_the_interval_of_a_share_is_that_of_wilson() -> None:
    """The limits of 10 of 10 are 1 / (1 + z²/n) and 1, and those of a half are symmetrical."""
    low, high = Share(10, 10).interval
    assert (low, high) == pytest.approx((1 / (1 + 1.96**2 / 10), 1), rel=1e-4)
    assert sum(Share(5, 10).interval) == pytest.approx(1)
    assert str(Share(5, 10)) == "50.0 (24-76)"
