"""The basis of the benchmarks: openings, tables, OpenSpiel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks import __main__ as bench_command
from playout import games, players
from playout.games import Position
from playout.players import Limit, SpecError
from playout.players.comparison.pairs import PairTask, openings, play_task
from playout.ratings.evidence import Share
from support import scale
from testbed.bench import Column, ResultTable, output
from testbed.openspiel import position
from testbed.positions import middle, opening

pytestmark = pytest.mark.usefixtures("copied_processes")

ROOT = Path(__file__).parents[2]
PEER = "testbed.openspiel:MCTSBot"
GAMES = ("tic_tac_toe", "connect_four", "othello", "mnk(m=8,n=8,k=5)", "gomoku")


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
    (begin,) = openings(games.load(spec), 2, 1, 1)
    pair = play_task(PairTask(spec, versions, Limit(simulations=40), begin))
    if spec != "gomoku":  # whose 225 moves are more than 40 simulations can tell apart
        assert pair.score.total >= 1
    assert min(pair.moves) > 0
    assert min(pair.seconds) > 0


@pytest.mark.parametrize("spec", ["nim", "othello(size=6)", "ultimate_tic_tac_toe"])
def test_the_peer_refuses_games_that_are_not_the_same(spec: str) -> None:
    with pytest.raises(SpecError, match="OpenSpiel"):
        players.load(PEER, games.load(spec))


def test_long_names_leave_room_for_the_numbers() -> None:
    table = ResultTable("a title", (Column("a", "player"), Column("b", "other"), Column("n", "n")))
    table.add(a=f"uct({'c=0.5,' * 40})", b="alphazero(batch=1)" * 10, n=4711)
    console = output()
    with console.capture() as shown:
        console.print(table.as_rich())
    assert "4,711" in shown.get()
    assert "".join(shown.get().split()).count("c=0.5,") > 30


def bench(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(bench_command.main, arguments)
    return done.exit_code, done.output


def test_truth_counts_the_moves_that_preserve_the_value(tmp_path: Path) -> None:
    """`minimax` proves all positions of tic-tac-toe, and random moves preserve what chance does."""
    file = tmp_path / "result.json"
    code, output = bench(
        *("truth", "--quick", "--games", "tic_tac_toe", "--seconds", "5"),
        *("--players", "minimax random(seed=1)", "--json", str(file)),
    )
    assert code == 0, output
    assert "5 s a move" in output
    (table,) = json.loads(file.read_text())["benchmarks"]["truth"]["tables"]
    (row,) = table["rows"]
    assert row["count"] == row["minimax"]["trials"] == 10
    assert row["minimax"]["share"] == 1
    assert row["random(seed=1)"]["share"] < 1
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
