"""playout.ratings.bradley_terry gives the ratings of Ordo (Miguel Ballicora) for a tournament.

The 360 matches were played by `playout-tournament` at Othello, size 6, with `uct` of 10, 20, 40 and
60 simulations. Ordo's ratings are those for which the expected points of each player are its
points, with an average of 2300 and 202 points between players whose score is 76 %. They were
computed by the algorithm of Ordo's sources, from the PGN of the tournament.
"""

from __future__ import annotations

import pytest

from playout.ratings.bradley_terry import Outcomes, rate

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
