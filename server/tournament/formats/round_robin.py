"""Round robin: everybody against everybody, again and again."""

from __future__ import annotations

from collections.abc import Sequence

from server.tournament.formats.core import Format, encounter, swapped
from server.tournament.pairs import Pair, Results


class RoundRobin(Format):
    """Every two meet `rounds` times, with one pair for each game.

    All meet all before any meet again, and in each such cycle all pairs have the same opening.
    """

    def knows_more(self, known: int, results: Results) -> bool:
        """They do not."""
        return False

    def _schedule(self, results: Results, out: Sequence[int]) -> list[Pair]:
        cycle = circle(self.entrants)
        return [
            pair
            for again in range(self.rounds)
            for number, pairings in enumerate(cycle, start=1)
            for board, entrants in enumerate(pairings, start=1)
            for pair in encounter(
                self.games,
                (again * len(cycle) + number, board),
                swapped(entrants, again),
                opening=again,
            )
        ]


def circle(entrants: int) -> list[list[tuple[int, int]]]:
    """For each round of a round robin the pairings; who begins is first.

    The circle method: all but the last stand in a circle, which turns by one place each round;
    those opposite each other meet, and the one that is opposite nobody meets the last, or sits out
    when their number is odd. By who begins as chosen here, everybody begins every other time, but
    for once around the meeting with the last: within one, all begin as often as not.
    """
    ring = entrants - 1 + entrants % 2
    return [_around(turn, ring, with_last=ring < entrants) for turn in range(ring)]


def _around(turn: int, ring: int, *, with_last: bool) -> list[tuple[int, int]]:
    pairings = [swapped((turn, ring), turn)] if with_last else []
    for apart in range(1, ring // 2 + 1):
        opposite = ((turn + apart) % ring, (turn - apart) % ring)
        pairings.append(swapped(opposite, apart + 1))
    return pairings
