"""playout.ratings.bradley_terry gives the ratings of Ordo (Miguel Ballicora) for a tournament.

The 360 matches were played by `playout-tournament` at Othello, size 6, with `uct` of 10, 20, 40 and
60 simulations. Ordo's ratings are those for which the expected points of each player are its
points, with an average of 2300 and 202 points between players whose score is 76 %. They were
computed by the algorithm of Ordo's sources, from the PGN of the tournament. `ordo` is the same
method in a few lines, for simulated matches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from playout.ratings.bradley_terry import ELO, Outcomes, rate
from playout.ratings.leaderboard import ANCHOR, RatedGame, RatingBook

NAMES = ("uct 10", "uct 20", "uct 40", "uct 60")
#: For each first and second mover, the results of the first mover: won, tied, lost.
RESULTS = {
    (0, 1): Outcomes(8, 4, 18),
    (0, 2): Outcomes(5, 1, 24),
    (0, 3): Outcomes(7, 0, 23),
    (1, 0): Outcomes(22, 1, 7),
    (1, 2): Outcomes(9, 1, 20),
    (1, 3): Outcomes(5, 0, 25),
    (2, 0): Outcomes(24, 0, 6),
    (2, 1): Outcomes(21, 0, 9),
    (2, 3): Outcomes(11, 1, 18),
    (3, 0): Outcomes(27, 0, 3),
    (3, 1): Outcomes(25, 2, 3),
    (3, 2): Outcomes(18, 2, 10),
}
ORDO = (2119.6, 2232.9, 2376.5, 2471.0)


def test_the_ratings_of_a_tournament_are_those_of_ordo_within_three_elo() -> None:
    assert sum(map(sum, RESULTS.values())) == 360
    found = [2300 + elo for elo in rate(len(NAMES), RESULTS).elo]
    assert found == pytest.approx(ORDO, abs=3)


PLAYERS, MATCHES = 12, 5000
#: The points between players whose score is 76 %, by default in Ordo.
POINTS_AT_76 = 202
Array = NDArray[np.floating[Any]]


def simulated(ties: float) -> tuple[Array, Array, Array]:
    """The first and second movers and the winners of matches of players within 300 Elo.

    `ties`: the share of ties between equals. The first move is worth 30 Elo.
    """
    rng = np.random.default_rng(3)
    true = np.linspace(-150, 150, PLAYERS)
    first = rng.integers(0, PLAYERS, MATCHES)
    second = (first + rng.integers(1, PLAYERS, MATCHES)) % PLAYERS
    ahead = (true[first] - true[second] + 30) / ELO / (1 - ties)
    shares = [np.exp(ahead / 2), np.full(MATCHES, 2 * ties / (1 - ties)), np.exp(-ahead / 2)]
    below = np.cumsum(shares / np.sum(shares, axis=0), axis=0)
    return first, second, np.choose((rng.random(MATCHES) > below).sum(axis=0), (1, -1, 2))


def ordo(first: Array, second: Array, winners: Array) -> Array:
    """The ratings for which the expected points of each player are its points."""
    scale = math.log(0.76 / 0.24) / POINTS_AT_76
    points = np.choose(winners + 1, (0.5, 0, 1, 0))

    def sums(of_first: Array, of_second: Array) -> Array:
        return np.bincount(first, of_first) + np.bincount(second, of_second)

    ratings, first_move = np.zeros(PLAYERS), 0.0
    for _ in range(100):
        share = 1 / (1 + np.exp(-scale * (ratings[first] - ratings[second] + first_move)))
        known = scale * share * (1 - share)
        ratings += 0.7 * sums(points - share, share - points) / sums(known, known)
        first_move += 0.7 * np.sum(points - share) / np.sum(known)
    return ratings


@pytest.mark.parametrize("ties", [0.0, 0.1, 0.3])
def test_the_joint_list_of_5000_matches_is_that_of_ordo_within_three_elo(ties: float) -> None:
    first, second, winners = simulated(ties)
    book = RatingBook("nim")
    book.add(
        RatedGame(((f"{one:02}", ""), (f"{other:02}", "")), int(winner), 0.0, "bullet")
        for one, other, winner in zip(first, second, winners, strict=True)
    )
    board, expected = book.leaderboard(), ordo(first, second, winners)
    assert (board.matches, len(board.entries)) == (MATCHES, PLAYERS)
    assert board.anchor
    expected -= expected[int(board.anchor[0])]
    found = [each.rating - ANCHOR for each in sorted(board.entries, key=lambda each: each.name)]
    assert found == pytest.approx(expected, abs=3)
