"""Round robin: each entrant meets each other entrant, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playout.ratings.pairs import Pair, PairScores
from playout.server.tournament.format import Format, encounter, swapped


class RoundRobin(Format):
    """Each two entrants meet `rounds` times, with one pair for each game.

    All meet all before any meet again, and in each such cycle all pairs have the same opening. The
    pairs of late entrants come at the end of each cycle, so that those of the others do not change.
    """

    takes_late_entrants = True

    is_fixed = True
    depends_on_results = False
    tiebreaks = ("Sonneborn-Berger",)

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """A pair for each two entrants, game and round."""
        return entrants * (entrants - 1) // 2 * games * rounds

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair]:
        regular = self.since.count(1)
        turns = regular - 1 + regular % 2
        return (
            pair
            for again in range(self.rounds)
            for number, board, entrants in self._cycle(regular, turns)
            for pair in encounter(
                self.games,
                (again * turns + number, board),
                swapped(entrants, again),
                opening=again,
            )
        )

    def _cycle(self, regular: int, turns: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield the round, the board and the entrants of each meeting of a cycle."""
        for number, pairings in enumerate(circle(regular), start=1):
            for board, entrants in enumerate(pairings, start=1):
                yield number, board, entrants
        late = ((one, other) for one in range(regular, self.entrants) for other in range(one))
        for board, (one, other) in enumerate(late, start=regular // 2 + 1):
            yield turns, board, swapped((one, other), one + other)


def circle(entrants: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the pairings of each round of a round robin; the first of a pairing moves first.

    The circle method: all entrants but the last stand in a circle, which turns by one place each
    round. Entrants opposite each other meet; the one without an opposite meets the last entrant, or
    sits out if the number of entrants is odd. Each entrant has the first move every other time,
    except once around the meeting with the last: the numbers of first and second moves of an
    entrant differ by one at most.
    """
    ring = entrants - 1 + entrants % 2
    return (_pairings(turn, ring, with_last=ring < entrants) for turn in range(ring))


def _pairings(turn: int, ring: int, *, with_last: bool) -> list[tuple[int, int]]:
    pairings = [swapped((turn, ring), turn)] if with_last else []
    for apart in range(1, ring // 2 + 1):
        opposite = ((turn + apart) % ring, (turn - apart) % ring)
        pairings.append(swapped(opposite, apart + 1))
    return pairings
