"""Evidence by betting that a player is stronger than another, valid whenever it is looked at.

A gambler starts with 1 and bets on each pair of matches that the candidate scores more than half of
its points. If the candidate is not stronger, the gambler's capital e is a supermartingale, so that
it ever reaches 1/alpha with a probability of at most alpha (Ville 1939). This holds for any number
of pairs, for any reason to stop or to go on, and without an approximation. The bets follow
Waudby-Smith and Ramdas 2023, *Estimating means of bounded random variables by betting*, JRSS B
86:1-27: e is the product of 1 + b (s - 1/2) over the scores s of pairs, from 0 to 1, with b known
before the pair.

Several candidates share alpha, also those of earlier tests against the same player: see
`level_of`.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Sequence
from typing import Literal

from playout.protocol.tournament_spec import Betting
from playout.ratings.evidence import GAMES, NELO_PER_DEVIATION, scores_of
from playout.ratings.pairs import Pair, PairScore

#: The last pairs that decide whether the next one is bet on, and how many of them may have had the
#: moves of earlier pairs: of deterministic players, pairs from a used opening are no evidence.
_RECENT, _MOST_REPEATED = 8, 1
#: After this many pairs in a row without a bet, a candidate is exhausted.
EXHAUSTED_AFTER = 64

State = Literal["open", "stronger", "futile", "exhausted"]


class EProcess:
    """The evidence that a candidate is stronger, after each of its pairs in schedule order."""

    def __init__(self, terms: Betting, level: float) -> None:
        """`level` is the probability with which a candidate that is not stronger may succeed."""
        self.bound = -math.log(level)
        #: The natural logarithm of the capital after each pair that was bet on.
        self.curve: list[float] = []
        self.pairs = 0
        self.state: State = "open"
        self._goal = terms.elo1 * math.sqrt(GAMES) / NELO_PER_DEVIATION
        self._futile_below = math.log(terms.beta / (1 - terms.alpha))
        self._sum = self._squares = 0.0
        self._repeated: deque[bool] = deque(maxlen=_RECENT)
        self._without_bet = 0

    @property
    def log_e(self) -> float:
        """The logarithm of the capital: the candidate is stronger when it reaches `bound`."""
        return self.curve[-1] if self.curve else 0.0

    @property
    def effect(self) -> float:
        """The mean of the scores above 1/2, in standard deviations of a pair."""
        return self._sum / self.pairs / self.deviation if self.pairs else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of a pair's score, as if one more pair had the largest deviation."""
        mean = self._sum / self.pairs if self.pairs else 0.0
        spread = self._squares - self.pairs * mean**2
        return math.sqrt((0.25 + max(0.0, spread)) / (self.pairs + 1))

    def add(self, score: float, *, repeated: bool = False) -> None:
        """Note the score of a pair, from 0 to 1; `repeated`: with the moves of earlier pairs."""
        if self.state == "stronger":
            return
        if sum(self._repeated) <= _MOST_REPEATED:
            bet = min(1.0, self._goal / self.deviation)
            self.curve.append(self.log_e + math.log1p(bet * (score - 0.5)))
            self._without_bet = 0
        else:
            self._without_bet += 1
        self._repeated.append(repeated)
        self.pairs += 1
        self._sum += score - 0.5
        self._squares += (score - 0.5) ** 2
        if self.log_e >= self.bound:
            self.state = "stronger"
        elif self.state == "open" and self._llr() <= self._futile_below:
            self.state = "futile"
        elif self.state == "open" and self._without_bet >= EXHAUSTED_AFTER:
            self.state = "exhausted"

    def _llr(self) -> float:
        """The log-likelihood ratio of `elo1` against 0, by the normal approximation."""
        return self.pairs * self._goal * (2 * self.effect - self._goal) / 2


class Race:
    """The evidence of one or more candidates, numbered from 1, against one player.

    It is over when one is stronger, or none is open.
    """

    def __init__(self, terms: Betting, candidates: int) -> None:
        level = level_of(terms, candidates)
        self.processes = {one + 1: EProcess(terms, level) for one in range(candidates)}
        self.winner: int | None = None

    def add(self, candidate: int, score: float, *, repeated: bool = False) -> None:
        """Note the score of a candidate's pair, from 0 to 1, unless the race is won."""
        if self.winner is None:
            process = self.processes[candidate]
            process.add(score, repeated=repeated)
            if process.state == "stronger":
                self.winner = candidate

    def add_pair(self, pair: Pair, score: PairScore, *, repeated: bool) -> None:
        """Note a pair of entrant 0 and a candidate, which has its entrant's number."""
        candidate = max(pair.entrants)
        points = scores_of(candidate, [(pair, score)])[0].total
        self.add(candidate, points / GAMES, repeated=repeated)

    @property
    def is_over(self) -> bool:
        """Whether a candidate is stronger, or no candidate is open."""
        states = {each.state for each in self.processes.values()}
        return self.winner is not None or "open" not in states

    def order(self, seed: str) -> Sequence[int]:
        """Return the open candidates in the order of a draw, the one to play next first.

        Thompson sampling: each candidate draws an effect from the distribution that its pairs
        leave, and the largest comes first. The same seed gives the same draw.
        """
        rng = random.Random(seed)
        draws = {
            one: rng.gauss(each.effect, 1 / math.sqrt(each.pairs + 1))
            for one, each in self.processes.items()
        }
        if self.is_over:
            return []
        still = [one for one in draws if self.processes[one].state == "open"]
        return sorted(still, key=lambda one: -draws[one])


def level_of(terms: Betting, candidates: int) -> float:
    """Return the level at which each candidate of a race is tested.

    The j-th candidate against a player would have alpha / (j (j + 1)) by itself; the sum over all j
    is alpha. The candidates of a race share what they would have, in equal parts: with j the number
    of the first one and m candidates, each has alpha / (j (j + m)).
    """
    first = terms.tried + 1
    return terms.alpha / (first * (first + candidates))
