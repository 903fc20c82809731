"""The analyst: its reports about positions, and its end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from playout.games import SpecError
from playout.players.analyst import analyst_process
from playout.players.analyst.analyst_process import Analyst, CannotAnalyse
from playout.players.core.player import Cancelled
from playout.protocol.analyst import AnalysisOrder
from playout.protocol.messages import Analysis


def order(player: str, *moves: int, seconds: float = 1.0, **fields: object) -> AnalysisOrder:
    given = {"game": "connect_four", "played": None} | fields
    return AnalysisOrder("a", moves=moves, player=player, seconds=seconds, **given)  # type: ignore[arg-type]


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that advances by the same step at each reading."""
    return itertools.count(0, step_s).__next__


def last(reports: Iterator[Analysis]) -> Analysis:
    *_, final = reports
    return final


def test_a_search_goes_on_with_its_tree_and_counts_all_simulations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        analyst_process, "FIRST_S", 100.0
    )  # so that only their number ends simulations
    wanted = order("uct(simulations=500,seed=1)", 3, 3, seconds=600)
    reports = list(Analyst(ticking(20.0)).analyse(wanted))
    assert len(reports) > 2
    for turn, each in enumerate(reports, start=1):
        assert each.simulations == sum(visits for _, visits, _ in each.actions) == 500 * turn


def test_a_player_that_begins_again_is_not_asked_for_the_same_again() -> None:
    (report,) = Analyst(ticking(0.001)).analyse(order("minimax(depth=2)", 3))
    assert report.actions


def test_a_player_without_analysis_reports_its_move() -> None:
    (report,) = Analyst().analyse(order("random(seed=1)", 3))
    assert len(report.pv) == 1
    assert report.win_rate is None


def test_a_proven_position_takes_no_more_time() -> None:
    wanted = order("uct(seed=1)", 4, 0, 8, 1, seconds=1000, game="tic_tac_toe")
    report = last(Analyst().analyse(wanted))
    assert (report.proven, report.pv[0]) == (1, 2)


@pytest.mark.parametrize("played", [0, 45])
def test_the_move_that_was_played_is_reported(played: int) -> None:
    wanted = order("uct(simulations=10,seed=1)", game="gomoku(size=9)", played=played)
    actions = {action for action, _, _ in last(Analyst(ticking(0.5)).analyse(wanted)).actions}
    assert played in actions
    assert len(actions) <= 51


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (order("uct", 3, 7), "move 2 is not legal: action 7"),
        (order("uct", *[0, 1] * 3, 0), "the game is over in this position"),
        (order("uct", *[0, 1] * 4), "the game is over before move 8"),
    ],
)
def test_a_position_that_cannot_be_analysed_is_refused(wanted: AnalysisOrder, text: str) -> None:
    with pytest.raises(CannotAnalyse, match=text):
        list(Analyst().analyse(wanted))


def test_an_unknown_player_is_refused() -> None:
    with pytest.raises(SpecError, match="nobody"):
        list(Analyst().analyse(order("nobody")))


def test_a_cancelled_analysis_ends_and_the_next_one_runs() -> None:
    analyst = Analyst(ticking(0.02))
    analyst.cancel()
    with pytest.raises(Cancelled):
        list(analyst.analyse(order("uct(simulations=500,seed=1)")))
    analyst.ready()
    reports = analyst.analyse(order("uct(simulations=500,seed=1)", seconds=1000))
    next(reports)
    analyst.cancel()
    with pytest.raises(Cancelled):
        list(reports)
    analyst.ready()
    assert list(analyst.analyse(order("uct(simulations=500,seed=1)")))
