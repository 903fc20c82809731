"""Matches that end by the win rates of both players."""

from __future__ import annotations

import pytest

from playout.protocol.messages import Analysis, Seat
from playout.protocol.tournament_spec import Adjudication
from playout.server.core.agreements import AgreedScores, decides

RESIGN = Adjudication(resign_moves=2, resign_below=0.1)
DRAW = Adjudication(draw_moves=2, draw_within=0.05, draw_after=6)


def after(rules: Adjudication, *rates: float | None) -> list[int | None]:
    """The result after each move of two players in turn that report these win rates."""
    scores, found = AgreedScores(rules), []
    for ply, rate in enumerate(rates):
        seat: Seat = 1 if ply % 2 == 0 else 2
        scores.moved(seat, ply, None if rate is None else Analysis(win_rate=rate))
        found.append(scores.winner())
    return found


def test_a_match_is_lost_when_both_agree_for_the_required_moves() -> None:
    assert after(RESIGN, 0.1, 0.9, 0.05, 0.95) == [None, None, None, 2]
    assert after(RESIGN, 0.9, 0.1, 1.0, 0.0) == [None, None, None, 1]
    assert after(RESIGN, 0.3, 0.9, 0.1, 0.9, 0.1) == [None, None, None, None, 2]


@pytest.mark.parametrize("rates", [(0.1, 0.89), (0.11, 0.9), (0.0, 0.0), (1.0, 1.0), (None, 0.9)])
def test_it_is_not_lost_while_one_disagrees(rates: tuple[float | None, float]) -> None:
    assert set(after(RESIGN, *rates, *rates, *rates)) == {None}


def test_a_move_without_a_win_rate_starts_the_count_again() -> None:
    assert after(RESIGN, 0.1, 0.9, None, 0.9, 0.1, 0.9, 0.1) == [None] * 6 + [2]


def test_a_match_is_tied_when_both_are_level_after_the_required_plies() -> None:
    assert after(DRAW, *[0.5] * 7) == [None] * 5 + [-1, -1]
    assert after(DRAW, *[0.5] * 6, 0.56, 0.5, 0.45, 0.55, 0.5) == [None] * 5 + [-1] + [
        None,
        None,
        None,
        None,
        -1,
    ]


def test_a_proven_result_is_certain() -> None:
    scores = AgreedScores(Adjudication(resign_moves=1))
    scores.moved(1, 0, Analysis(win_rate=0.7, proven=1))
    scores.moved(2, 1, Analysis(proven=-1))
    assert scores.winner() == 1


def test_without_rules_nothing_is_decided() -> None:
    assert not decides(Adjudication())
    assert decides(RESIGN)
    assert decides(DRAW)
    assert set(after(Adjudication(), 0.0, 1.0, 0.5, 0.5)) == {None}
