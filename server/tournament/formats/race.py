"""Race: candidates play the first entrant, until the evidence says that one of them is stronger."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from playout.protocol.tournament_spec import Betting, TournamentSpec
from playout.ratings.pairs import CountRange, Pair, PairScores
from playout.ratings.sequential_tests import Race
from playout.server.tournament.format import Format, swapped

#: The least number of pairs of a block.
BLOCK = 16
#: How many blocks are known beyond the complete ones, so that no core waits for the last pair.
AHEAD = 2


class _Block(NamedTuple):
    """Consecutive pairs of one candidate: the number of the block, and its pairs."""

    number: int
    candidate: int
    pairs: list[Pair]


class RaceFormat(Format):
    """Entrant 0 meets one other entrant, the candidate, at a time, for a block of pairs.

    Each candidate has a block at first. The others are drawn from the results of all blocks but the
    last two (`betting.Race.order`): better candidates have more blocks. It ends with the decision,
    or after `rounds` pairs; 0 is no limit. All candidates have the same openings.
    """

    has_race = True
    least_rounds = 0

    def __init__(self, spec: TournamentSpec) -> None:
        super().__init__(spec)
        self._terms = spec.betting or Betting()
        self._seed = spec.seed
        pairs = max(BLOCK, AHEAD * self.concurrency)
        #: The openings of a block: a pair in each game for each of them.
        self._openings = math.ceil(pairs / len(self.games))

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """The pairs that are known at the start."""
        return (entrants - 1 + AHEAD) * games * BLOCK

    def processes(self) -> list[int]:
        """Entrant 0 plays in every match, and of the others one at a time."""
        others = self.entrants - 1
        return [self.concurrency, *[max(1, self.concurrency // others)] * others]

    def pair_count(self) -> CountRange:
        """Return a range from one pair to all of `rounds`, or without limit."""
        return CountRange(1, self.rounds or None)

    def head_to_heads(self) -> list[tuple[int, int]]:
        """Each candidate with entrant 0."""
        return [(one, 0) for one in range(1, self.entrants)]

    def knows_more(self, known: int, results: PairScores) -> bool:
        """Return whether enough pairs are complete for another block."""
        return len(results) >= known - (AHEAD - 1) * self._openings * len(self.games)

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair]:
        blocks = self._blocks(results, withdrawn)
        pairs = (pair for block in blocks for pair in block.pairs)
        return itertools.islice(pairs, self.rounds or None)

    def _blocks(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[_Block]:
        race = Race(self._terms, self.entrants - 1)
        openings = dict.fromkeys(range(1, self.entrants), 0)
        waiting: list[_Block] = []
        for number in itertools.count(1):
            if number >= self.entrants:
                while len(waiting) >= AHEAD:
                    if not self._added(race, waiting.pop(0), results, withdrawn):
                        return
                order = race.order(f"{self._seed} {number}")
            else:
                order = [number]
            candidate = next(
                (one for one in order if one not in withdrawn or _began(results, number, one)), None
            )
            if candidate is None and number >= self.entrants:
                return
            if candidate is not None:
                first = openings[candidate]
                openings[candidate] += self._openings
                block = _Block(number, candidate, self._pairs(number, candidate, first))
                waiting.append(block)
                yield block

    def _added(
        self, race: Race, block: _Block, results: PairScores, withdrawn: Sequence[int]
    ) -> bool:
        """Add the results of a block to the race; return whether it is complete."""
        for pair in block.pairs:
            score = results.get(pair.key)
            waits = self._terms.without_luck and pair.key not in self.luck
            if (score is None or waits) and block.candidate not in withdrawn:
                return False
            if score is not None:
                luck = self.luck if self._terms.without_luck else {}
                race.add_pair(pair, score, repeated=pair.key in self.repeated, luck=luck)
        return True

    def _pairs(self, number: int, candidate: int, first: int) -> list[Pair]:
        """Return the pairs of a block, from its first opening on."""
        each = itertools.product(range(first, first + self._openings), self.games)
        return [
            Pair((number, candidate, place), game, swapped((candidate, 0), place), opening)
            for place, (opening, game) in enumerate(each, start=1)
        ]


def _began(results: PairScores, number: int, candidate: int) -> bool:
    """Return whether a candidate has played a pair of a block to its end."""
    return any(key[:2] == (number, candidate) for key in results)
