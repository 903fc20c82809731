"""The player best: the strongest player of each game."""

from __future__ import annotations

import random
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from playout import games, players
from playout.games import KernelGame, Position, SpecError
from playout.players import Limit
from playout.players.best import LEVELS, STRONGEST, Best, levels
from testbed import levels as measuring

DOCUMENT = (Path(__file__).parents[2] / "docs" / "players.md").read_text(encoding="utf-8")
SECTION = DOCUMENT.split("## Which player for which game")[1].split("\n## ")[0]
BUILT_IN = [name for name in games.names() if name != "open_spiel"]


def chosen(game: str, options: str = "") -> str:
    """Return the name of the class of the player that is chosen for a game."""
    player = players.load(f"best({options})" if options else "best", games.load(game))
    assert isinstance(player, Best)
    name = type(player._player).__name__.lower()
    player.close()
    return name


@pytest.mark.parametrize("name", BUILT_IN)
def test_it_plays_every_game(name: str) -> None:
    game = games.load(name)
    assert isinstance(game, KernelGame)
    player = players.load("best(simulations=50,seed=1)", game)
    position = Position(game).rolled(random.Random(1).randrange)
    result = player.choose(position, Limit())
    assert result.action in position.legal_actions
    assert result.info
    assert result.info.simulations <= 100
    player.close()


@pytest.mark.parametrize("name", STRONGEST)
def test_its_choice_is_the_first_one_in_the_document(name: str) -> None:
    assert name in BUILT_IN
    rows = [line.split("|") for line in SECTION.splitlines() if line.startswith("| ")]
    first = next(row for row in rows if f"`{name}`" in row[1])
    assert f"`{STRONGEST[name][0]}`" in first[2]


def test_another_player_follows_where_the_strongest_cannot_play() -> None:
    assert chosen("breakthrough") == "alphabeta"
    assert chosen("breakthrough(rows=5,columns=4)") == "uct"
    assert chosen("nim", "candidates=3,time=0.1") == "uct"


def test_an_analysis_has_as_many_candidates_as_were_asked_for() -> None:
    game = games.load("breakthrough")
    player = players.load("best(candidates=4,seed=1)", game)
    info = player.choose(Position(game), Limit(simulations=20_000)).info
    assert info
    rates = [each.win_rate for each in info.actions]
    visits = [each.visits for each in info.actions]
    assert len(rates) == 4
    assert rates == sorted(rates, reverse=True)
    assert visits == sorted(visits, reverse=True)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_levels_of_a_game_rise_and_are_in_the_document(name: str) -> None:
    found = [levels()[name][level] for level in LEVELS]
    assert all(low.mistakes >= high.mistakes for low, high in pairwise(found))
    assert all(
        (low.simulations, -low.mistakes) < (high.simulations, -high.mistakes)
        or low.mistakes > high.mistakes
        or low == high == found[-1]
        for low, high in pairwise(found)
    )
    assert [each.mistakes for each in found[2:]] == [0, 0]
    section = DOCUMENT.split("\n## Levels\n")[1].split("\n## ")[0]
    row = next(line for line in section.splitlines() if line.startswith(f"| `{name}` |"))
    for strength, cell in zip(found, row.split("|")[2:], strict=False):
        shown = f"{strength.mistakes:.0%}, " if strength.mistakes else ""
        assert cell.strip().startswith(f"{shown}{strength.simulations:,} (")


def test_a_level_limits_the_search_and_makes_mistakes() -> None:
    game = games.load("breakthrough")
    state = game.initial_state()
    strong, easy = (players.load(f"best(level={each},seed=1)", game) for each in ("strong", "easy"))
    most = levels()["breakthrough"]["strong"].simulations
    for _ in range(5):
        info = strong.choose(Position(game, start=state), Limit()).info
        assert info
        assert info.simulations <= most + 10  # those that were begun are counted
    chosen = [easy.choose(Position(game, start=state), Limit()) for _ in range(40)]
    assert 0 < sum(each.info is None for each in chosen) < 40  # a random move has no analysis


def test_levels_are_measured_by_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "PAIRS", 2)
    found = measuring.found_levels("tic_tac_toe")
    assert [each.level for each in found] == list(LEVELS)
    assert all(0 <= each.score <= 1 for each in found)
    assert found[0].strength in measuring.RISING
    assert {each.strength for each in found[2:]} <= set(measuring.CAREFUL)


def test_levels_with_chance_are_equal_steps_from_random_moves_to_the_strongest() -> None:
    easy, later = measuring.steps_to(0.9)
    above, below = sum(easy) / 2, sum(later) / 2
    assert above + below == pytest.approx(1)
    assert (above / below) ** 4 == pytest.approx(0.9 / 0.1)  # the odds of four steps


def test_it_can_be_cancelled() -> None:
    player = players.load("best", games.load("chess"))
    timer = threading.Timer(0.05, player.cancel)
    timer.start()
    position = Position(games.load("chess"))
    assert player.choose(position, Limit(seconds=1000)).action in position.legal_actions
    timer.join()


@pytest.mark.parametrize("options", ["time=0", "simulations=0", "candidates=0", "mistakes=2"])
def test_an_option_that_is_out_of_range_is_refused(options: str) -> None:
    with pytest.raises(SpecError, match="must be"):
        players.load(f"best({options})", games.load("breakthrough"))


def test_an_unknown_level_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SpecError, match=r"of best 'hard' .there are: easy, master, medium, strong"):
        players.load("best(level=hard)", games.load("nim"))
