"""The analyst: its reports about positions, and its end."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from playout import games
from playout.games import Position, SpecError
from playout.players.analyst.analyst_process import Analyst, CannotAnalyse, measure_luck
from playout.players.comparison.pairs import expectation_of
from playout.players.core.player import Cancelled
from playout.protocol.analyst import AnalysisOrder, LuckOrder
from playout.protocol.messages import Analysis, Lines
from playout.ratings.luck import luck


def order(player: str, *moves: int, seconds: float = 1.0, **fields: object) -> AnalysisOrder:
    given = {"game": "connect_four", "played": None} | fields
    return AnalysisOrder("a", moves=moves, player=player, seconds=seconds, **given)  # type: ignore[arg-type]


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that advances by the same step at each reading."""
    return itertools.count(0, step_s).__next__


def shown(analyst: Analyst, wanted: AnalysisOrder) -> list[Analysis]:
    found: list[Analysis] = []
    analyst.analyse(wanted, lambda analysis, _: found.append(analysis))
    return found


def test_an_analysis_is_one_search_whose_reports_grow() -> None:
    reports = shown(Analyst(), order("uct(seed=1)", 3, 3))
    assert len(reports) > 2
    assert reports[0].simulations < reports[-1].simulations
    for before, after in itertools.pairwise(reports):
        assert before.simulations <= after.simulations
        assert before.depth <= after.depth
    for each in reports:
        assert each.simulations == sum(visits for _, visits, _ in each.actions)


def test_each_new_depth_is_shown() -> None:
    wanted = order("alphabeta(seed=1,depth=4)", seconds=1000, game="breakthrough")
    reports = shown(Analyst(ticking(1.0)), wanted)
    assert [each.depth for each in reports] == [1, 2, 3, 4, 4]  # the last one is the result


@pytest.mark.parametrize(
    ("player", "game", "number"),
    [
        ("uct(seed=1)", "connect_four", 2),
        ("alphabeta(seed=1,depth=4)", "breakthrough", 2),
        ("minimax(seed=1,memory_mb=16)", "connect_four", 2),
        ("random(seed=1)", "connect_four", 0),
    ],
)
def test_the_lines_after_the_next_best_actions_are_shown(
    player: str, game: str, number: int
) -> None:
    found: list[tuple[Analysis, Lines]] = []
    wanted = order(player, seconds=0.1, game=game)
    Analyst().analyse(wanted, lambda *each: found.append(each))
    analysis, lines = found[-1]
    actions = [action for action, _, _ in analysis.actions if action != analysis.pv[0]]
    assert [line[0] for line in lines] == actions[:number]
    for line in lines:
        assert Position(games.load(game), line).moves == line


def test_a_player_without_analysis_reports_its_move() -> None:
    (report,) = shown(Analyst(), order("random(seed=1)", 3))
    assert len(report.pv) == 1
    assert report.win_rate is None


def test_a_proven_position_takes_no_more_time() -> None:
    wanted = order("uct(seed=1)", 4, 0, 8, 1, seconds=1000, game="tic_tac_toe")
    report = shown(Analyst(), wanted)[-1]
    assert (report.proven, report.pv[0]) == (1, 2)


@pytest.mark.parametrize("played", [0, 45])
def test_the_move_that_was_played_is_reported(played: int) -> None:
    wanted = order("uct(simulations=10,seed=1)", game="gomoku(size=9)", played=played)
    actions = {action for action, _, _ in shown(Analyst(), wanted)[-1].actions}
    assert played in actions
    assert len(actions) <= 51


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (order("uct", 3, 7), "move 2 is not legal: action 7"),
        (order("uct", *[0, 1] * 3, 0), "the game is over in this position"),
        (order("uct", *[0, 1] * 4), "the game is over before move 8"),
        (order("uct", 0, game="pig"), "a roll follows in this position"),
    ],
)
def test_a_position_that_cannot_be_analysed_is_refused(wanted: AnalysisOrder, text: str) -> None:
    with pytest.raises(CannotAnalyse, match=text):
        shown(Analyst(), wanted)


def test_an_unknown_player_is_refused() -> None:
    with pytest.raises(SpecError, match="nobody"):
        shown(Analyst(), order("nobody"))


def test_a_cancelled_analysis_ends_and_the_next_one_runs() -> None:
    analyst = Analyst()
    analyst.cancel()
    with pytest.raises(Cancelled):
        shown(analyst, order("uct(simulations=500,seed=1)"))
    analyst.ready()
    with pytest.raises(Cancelled):
        analyst.analyse(order("uct(seed=1)", seconds=1000), lambda *_: analyst.cancel())
    analyst.ready()
    assert shown(analyst, order("uct(simulations=500,seed=1)"))


#: In pig, player 1 rolls (0) a 6 (5) and a 1 (0); player 2 rolls a 2 (1) and holds (1).
PIG = (0, 5, 0, 0, 0, 1, 1)


def test_the_luck_of_a_match_is_that_of_a_comparison() -> None:
    """A 1 is unlucky for its player, all else lucky; rolls of an opening are not counted."""
    report = measure_luck(LuckOrder("a", "pig", PIG, 0, "shipped"))
    assert report.over
    assert report.luck is not None
    six, one, two = report.luck
    assert six > 0 > one
    assert two < 0  # for player 1: player 2 has not rolled the 1
    game = games.load("pig")
    assert sum(report.luck) == pytest.approx(luck(Position(game, PIG), expectation_of(game)))
    assert measure_luck(LuckOrder("a", "pig", PIG, 2, "shipped")).luck == (one, two)


@pytest.mark.parametrize(
    ("evaluation", "text"),
    [("shipped", "there is no evaluation of pig(winscore=5)"), ("/none.npz", "/none.npz")],
)
def test_luck_that_no_evaluation_values_is_an_error(evaluation: str, text: str) -> None:
    report = measure_luck(LuckOrder("a", "pig(winscore=5)", (0, 5), 0, evaluation))
    assert report.luck == ()
    assert text in report.error


def test_a_failure_has_no_luck() -> None:
    report = measure_luck(LuckOrder("a", "pig", (7,), 0, "shipped"))
    assert report.luck is None
    assert report.error
