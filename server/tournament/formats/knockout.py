"""Knockout: who wins a duel goes on, until one is left."""

from __future__ import annotations

from collections.abc import Sequence

from server.tournament.formats.core import (
    Bye,
    Format,
    absent,
    encounter,
    swapped,
)
from server.tournament.pairs import Pair, Results

#: So many more pairs at most are played when a duel is tied.
MORE_PAIRS = 8


class Knockout(Format):
    """A bracket in which the first meets the last, the second the last but one, and so on.

    It is drawn so that the better seeds, those who are listed first, meet late; when their number
    is no power of two, the best have no opponent in the first round. In a duel, `rounds` pairs are
    played for each game. When it is tied then, more are, one at a time, the games in turn; when
    MORE_PAIRS of these are tied too, the better seed goes on. A duel begins when both are known.

    When somebody is suspended before it is decided, the other goes on.
    """

    def _schedule(self, results: Results, out: Sequence[int]) -> list[Pair]:
        return self._play(results, out)[0]

    def byes(self, results: Results, out: Sequence[int] = ()) -> list[Bye]:
        """Who has no opponent in the first round. It gives no points: they do not count here."""
        seats = bracket(self.entrants)
        paired = zip(seats[::2], seats[1::2], strict=True)
        return [Bye(1, one, 0) for one, other in paired if other >= self.entrants]

    def winner(self, results: Results, out: Sequence[int] = ()) -> int | None:
        """Who is left in the end, if that is known."""
        (left,) = self._play(results, out)[1][-1]
        return left

    def ranking(self, results: Results, out: Sequence[int] = ()) -> list[int]:
        """Who got furthest first, and of those who got as far, the better seed."""
        _, rounds = self._play(results, out)
        reached = [sum(one in left for left in rounds) for one in range(self.entrants)]
        return sorted(range(self.entrants), key=lambda one: -reached[one])

    def _play(
        self, results: Results, out: Sequence[int]
    ) -> tuple[list[Pair], list[list[int | None]]]:
        """All pairs that are known, and who is known to be left in each round, by their seats.

        What nobody sits on in the first round is a number beyond the entrants.
        """
        pairs: list[Pair] = []
        rounds: list[list[int | None]] = [list(bracket(self.entrants))]
        while len(rounds[-1]) > 1:
            seats, left = rounds[-1], list[int | None]()
            for board, (one, other) in enumerate(zip(seats[::2], seats[1::2], strict=True), 1):
                if one is None or other is None:
                    left.append(None)
                elif other >= self.entrants:
                    left.append(one)
                else:
                    duel = self._duel((len(rounds), board), (one, other), results)
                    pairs += duel
                    left.append(_winner(duel, (one, other), results, out))
            rounds.append(left)
        return pairs, rounds

    def _duel(
        self, place: tuple[int, int], entrants: tuple[int, int], results: Results
    ) -> list[Pair]:
        """The pairs of two who meet; more when it is tied."""
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


def bracket(entrants: int) -> list[int]:
    """Who sits where in the first round, two neighbours against each other; a power of two.

    Of each two, the better seed is first. Where the winners are the better seeds, the same holds
    in each round: of 2^k, the first meets the last.
    """
    seats = [0]
    while len(seats) < entrants:
        size = 2 * len(seats)
        seats = [seat for one in seats for seat in (one, size - 1 - one)]
    return seats


def _is_tied(pairs: list[Pair], entrants: tuple[int, int], results: Results) -> bool:
    """Are all played, and both have as many points?"""
    return all(pair.key in results for pair in pairs) and _lead(pairs, entrants[0], results) == 0


def _winner(
    pairs: list[Pair], entrants: tuple[int, int], results: Results, out: Sequence[int]
) -> int | None:
    """Who goes on, if that is known."""
    if all(pair.key in results for pair in pairs):
        lead = _lead(pairs, entrants[0], results)
        return min(entrants) if lead == 0 else entrants[lead < 0]
    gone = absent(entrants, out)
    return None if gone is None else entrants[gone == entrants[0]]


def _lead(pairs: list[Pair], entrant: int, results: Results) -> float:
    """By how many points it is ahead of the other."""
    return sum(
        (results[pair.key].total - 1) * (2 if pair.entrants[0] == entrant else -2) for pair in pairs
    )
