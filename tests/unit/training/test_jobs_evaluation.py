from __future__ import annotations

from pathlib import Path

import pytest

from playout import games
from playout.games import SpecError
from playout.players import Limit
from playout.players.comparison.pairs import openings, score
from playout.players.training.jobs import EvaluatedPlayer, EvaluationTerms, played
from playout.ratings.pairs import OpeningError, PairScore
from support.nets import write_small_net

GAME = games.load("tic_tac_toe")


def terms(first: str, second: str, plies: int = 1) -> EvaluationTerms:
    both = (EvaluatedPlayer(first), EvaluatedPlayer(second))
    return EvaluationTerms(GAME, both, Limit(simulations=300), plies, seed=1)


def test_the_stronger_player_scores_more_whichever_place_it_has() -> None:
    assert score(list(played(terms("minimax", "random"), 8, threads=2))).share > 0.6
    assert score(list(played(terms("random", "minimax"), 8, threads=2))).share < 0.4


def test_the_interval_of_a_score_is_that_of_its_elo() -> None:
    found = score([PairScore(1, 0.5), PairScore(1, 0), PairScore(0.5, 0.5), PairScore(1, 1)])
    assert (found.won, found.tied, found.lost) == (4, 3, 1)
    assert found.low < found.share == 0.6875 < found.high
    assert found.elo_low is not None
    assert found.low == pytest.approx(1 / (1 + 10 ** (-found.elo_low / 400)))


def test_a_score_without_a_loss_has_an_open_interval() -> None:
    found = score([PairScore(1, 1)] * 3)
    assert (found.share, found.high, found.elo, found.elo_high) == (1, 1, None, None)
    assert 0 < found.low < 1
    assert str(found).startswith("6 games, +6 =0 -0: 100.0%")


def test_openings_that_no_match_has_are_an_error() -> None:
    with pytest.raises(OpeningError):
        list(played(terms("random", "random", plies=9), 1, threads=1))


def test_openings_longer_than_the_matches_of_a_larger_board_are_an_error() -> None:
    """There are far too many to try all of them."""
    game = games.load("mnk(m=6,n=6,k=4)")
    with pytest.raises(OpeningError, match="or the match is over"):
        openings(game, plies=40, seed=1, pairs=1)


def test_a_net_is_not_named_twice(tmp_path: Path) -> None:
    net = write_small_net(tmp_path / "a.onnx", GAME)
    with pytest.raises(SpecError, match=r"leave out the option net=b\.onnx"):
        EvaluatedPlayer("alphazero(net=b.onnx)", net).make(GAME)
