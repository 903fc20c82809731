"""playout.players.engines.gtp: reports of Leela Zero and KataGo as an analysis."""

from __future__ import annotations

import pytest

from playout import games
from playout.games import Position
from playout.players.engines.gtp import analysis, board_of

GAME = games.load("gomoku(size=9)")
POSITION = Position(GAME)
LEELA = (
    "info move E5 visits 100 winrate 4999 prior 27 lcb 4995 order 0 pv E5 D5 E5 "
    "info move A9 visits 50 winrate 2000 prior 27 lcb 1900 order 1 pv A9"
)
KATAGO = (
    "info move E5 visits 100 utility 0.1 winrate 0.75 scoreMean 1.5 order 0 pv E5 pass "
    "info move A9 visits 50 winrate 0.25 order 1 pv A9"
)


@pytest.mark.parametrize(("report", "win_rate", "plies"), [(LEELA, 0.4999, 2), (KATAGO, 0.75, 1)])
def test_a_report_becomes_an_analysis(report: str, win_rate: float, plies: int) -> None:
    """The principal variation ends before a move that is not legal."""
    info = analysis(board_of(GAME), POSITION, report)
    assert info is not None
    assert info.win_rate == pytest.approx(win_rate)
    assert info.simulations == 150
    assert [each.action for each in info.actions] == [40, 0]
    assert info.pv == (40, 39)[:plies]


@pytest.mark.parametrize("report", ["info", "info move Z99 visits 3 winrate 1", "info move E5"])
def test_a_report_that_cannot_be_read_is_no_analysis(report: str) -> None:
    assert analysis(board_of(GAME), POSITION, report) is None
