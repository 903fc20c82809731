"""Knockout: the winner of an encounter advances, until one entrant is left."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from playout.ratings.pairs import CountRange, Pair, PairScores
from playout.server.tournament.format import (
    Bye,
    Format,
    absent,
    encounter,
    finished,
    swapped,
)

#: Maximum number of additional pairs in a tied encounter.
MORE_PAIRS = 8


class Knockout(Format):
    """A bracket in which the first meets the last, the second the last but one, and so on.

    The better seeds, which are listed first, meet late. If the number of entrants is no power of
    two, the best have no opponent in the first round. In an encounter, `rounds` pairs are played
    for each game. If it is tied then, more pairs follow, one at a time, with the games in turn; if
    it is still tied after MORE_PAIRS of these, the better seed advances. An encounter begins when
    both entrants are known.

    When an entrant is withdrawn before the encounter is decided, the opponent advances.
    """

    most_pairs = 2500
    shows_rounds = True
    takes_more_rounds = False

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """The number of pairs if every encounter is tied until its last pair."""
        return (entrants - 1) * (games * rounds + MORE_PAIRS)

    def pair_count(self) -> CountRange:
        """At least `rounds` pairs for each game and encounter, and at most MORE_PAIRS more."""
        encounters = self.entrants - 1
        least = encounters * self.rounds * len(self.games)
        return CountRange(least, least + encounters * MORE_PAIRS)

    def round_name(self, number: int) -> str:
        """The last rounds have names."""
        left = (self.entrants - 1).bit_length() - number
        return {0: "Final", 1: "Semi-finals", 2: "Quarter-finals"}.get(left, f"Round {number}")

    def byes(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Bye]:
        """The entrants without an opponent in the first round; these byes give no points."""
        seats = first_seats(self.entrants)
        paired = zip(seats[::2], seats[1::2], strict=True)
        return [Bye(1, one, 0) for one, other in paired if other >= self.entrants]

    def winner(self, results: PairScores, withdrawn: Sequence[int] = ()) -> int | None:
        (left,) = finished(self._play(results, withdrawn))[-1]
        return left

    def bracket(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[list[int | None]]:
        return [
            [None if one is None or one >= self.entrants else one for one in seats]
            for seats in finished(self._play(results, withdrawn))
        ]

    def ranking(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[int]:
        """Return all entrants by the round that they reached; of equals, the better seed first."""
        rounds = finished(self._play(results, withdrawn))
        reached = [sum(one in left for left in rounds) for one in range(self.entrants)]
        return sorted(range(self.entrants), key=lambda one: -reached[one])

    def schedule(
        self, results: PairScores, withdrawn: Sequence[int]
    ) -> Generator[Pair, None, object]:
        return self._play(results, withdrawn)

    def _play(
        self, results: PairScores, withdrawn: Sequence[int]
    ) -> Generator[Pair, None, list[list[int | None]]]:
        """Yield all known pairs; return for each round the entrants by seat, None if not known.

        An empty seat of the first round has a number beyond the entrants.
        """
        rounds: list[list[int | None]] = [list(first_seats(self.entrants))]
        while len(rounds[-1]) > 1:
            seats, left = rounds[-1], list[int | None]()
            for board, (one, other) in enumerate(zip(seats[::2], seats[1::2], strict=True), 1):
                if one is None or other is None:
                    left.append(None)
                elif other >= self.entrants:
                    left.append(one)
                else:
                    played = self._encounter((len(rounds), board), (one, other), results)
                    yield from played
                    left.append(_winner(played, (one, other), results, withdrawn))
            rounds.append(left)
        return rounds

    def _encounter(
        self, place: tuple[int, int], entrants: tuple[int, int], results: PairScores
    ) -> list[Pair]:
        """Return the pairs of two entrants that meet; more pairs while the encounter is tied."""
        before = (place[0] - 1) * self.rounds
        pairs = [
            Pair((*place, again * len(self.games) + pair.key[2]), *pair[1:])
            for again in range(self.rounds)
            for pair in encounter(self.games, place, swapped(entrants, again), before + again)
        ]
        for more in range(MORE_PAIRS):
            if not _is_tied(pairs, entrants, results):
                break
            again, which = divmod(more, len(self.games))
            key = (*place, len(pairs) + 1)
            meeting = self.rounds + again
            order = swapped(entrants, meeting + which)
            pairs.append(Pair(key, self.games[which], order, before + meeting))
        return pairs


def first_seats(entrants: int) -> list[int]:
    """Return the entrants in the order of their seats in the first round; neighbours meet.

    The number of seats is a power of two. Of two neighbours, the better seed is first. As long as
    the better seeds win, of 2^k entrants the first meets the last in each round.
    """
    seats = [0]
    while len(seats) < entrants:
        size = 2 * len(seats)
        seats = [seat for one in seats for seat in (one, size - 1 - one)]
    return seats


def _is_tied(pairs: list[Pair], entrants: tuple[int, int], results: PairScores) -> bool:
    """Return whether all pairs are complete, and both entrants have equal points."""
    return all(pair.key in results for pair in pairs) and _lead(pairs, entrants[0], results) == 0


def _winner(
    pairs: list[Pair], entrants: tuple[int, int], results: PairScores, withdrawn: Sequence[int]
) -> int | None:
    """Return the entrant that advances, None while that is not known."""
    if all(pair.key in results for pair in pairs):
        lead = _lead(pairs, entrants[0], results)
        return min(entrants) if lead == 0 else entrants[lead < 0]
    forfeits = absent(entrants, withdrawn)
    return None if forfeits is None else entrants[forfeits == entrants[0]]


def _lead(pairs: list[Pair], entrant: int, results: PairScores) -> float:
    """Return the points of the entrant, less those of the other."""
    return sum(
        (results[pair.key].total - 1) * (2 if pair.entrants[0] == entrant else -2) for pair in pairs
    )
