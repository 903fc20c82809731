"""Swiss: in each round everybody meets somebody with about as many points, and nobody twice."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.tournament.formats.core import (
    Bye,
    Format,
    absent,
    encounter,
    left_out,
)
from server.tournament.formats.matching import maximum_matching
from server.tournament.pairs import Pair, Results


@dataclass(frozen=True)
class PreviousRounds:
    """What the rounds so far mean for the next one; in tuples, a number for each entrant.

    `begun`: in how many more pairs it had the first move in the first match than it had not; over
    both matches of a pair, everybody has it as often as not. `met`: each two who did,
    once for each time. `withdrawn`: who is not paired any more.
    """

    points: tuple[float, ...]
    byes: tuple[int, ...]
    begun: tuple[int, ...]
    met: tuple[frozenset[int], ...] = ()
    withdrawn: frozenset[int] = frozenset()

    @functools.cached_property
    def times_met(self) -> Counter[frozenset[int]]:
        """For each two, how often."""
        return Counter(self.met)


class Swiss(Format):
    """`rounds` rounds; in each, those who meet play one pair for each game, from one opening.

    A round is paired when the one before is complete: `pair_off` says how. An odd one out has a
    bye, which is worth as many points as can be had in a round.

    Who is suspended loses what is not played to the opponent, who has it as a bye, and from the
    next round on is not paired any more.
    """

    def byes(self, results: Results, out: Sequence[int] = ()) -> list[Bye]:
        """Those of the rounds that are paired."""
        return [bye for _, byes in self._play(results, out) for bye in byes]

    def _schedule(self, results: Results, out: Sequence[int]) -> list[Pair]:
        return [pair for pairs, _ in self._play(results, out) for pair in pairs]

    def _play(self, results: Results, out: Sequence[int]) -> Iterator[tuple[list[Pair], list[Bye]]]:
        """Of each round that is known, the pairs and the byes."""
        nothing = (0,) * self.entrants
        past = PreviousRounds(nothing, nothing, nothing)
        for number in range(1, self.rounds + 1):
            pairings, idle = pair_off(past)
            pairs = [
                pair
                for board, pairing in enumerate(pairings, start=1)
                for pair in encounter(self.games, (number, board), pairing, opening=number - 1)
            ]
            unplayed = [pair for pair in pairs if left_out(pair, results, out)]
            byes = [Bye(number, one, 2 * len(self.games)) for one in idle if pairs]
            byes += _walkovers(unplayed, out)
            yield pairs, byes
            if any(pair.key not in results for pair in pairs if pair not in unplayed):
                return
            past = _after(past, pairs, byes, results, out)


def _walkovers(unplayed: list[Pair], out: Sequence[int]) -> list[Bye]:
    """What those get whose opponents are suspended."""
    won = Counter(
        (pair.key[0], one)
        for pair in unplayed
        for one in pair.entrants
        if one != absent(pair.entrants, out)
    )
    return [Bye(number, one, 2 * pairs) for (number, one), pairs in won.items()]


def _after(
    past: PreviousRounds, pairs: list[Pair], byes: list[Bye], results: Results, out: Sequence[int]
) -> PreviousRounds:
    """When a round of those pairs is over."""
    points, idle, begun = list(past.points), list(past.byes), list(past.begun)
    withdrawn = set(past.withdrawn)
    for bye in byes:
        points[bye.entrant] += bye.matches
        idle[bye.entrant] += 1
    for pair in pairs:
        if pair.key in results:
            first, second = pair.entrants
            points[first] += results[pair.key].total
            points[second] += 2 - results[pair.key].total
            begun[first] += 1
            begun[second] -= 1
        elif (one := absent(pair.entrants, out)) is not None:
            withdrawn.add(one)
    met = dict.fromkeys(frozenset(pair.entrants) for pair in pairs)
    return PreviousRounds(
        tuple(points), tuple(idle), tuple(begun), past.met + tuple(met), frozenset(withdrawn)
    )


@functools.lru_cache(maxsize=256)
def pair_off(past: PreviousRounds) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """The pairings of a round, who begins first; and the one without, if their number is odd.

    Who has more points is higher, and of equals who is listed first. Without a pairing is the
    lowest of those who were least often, but another of these if that saves rematches. From the
    top, each meets one with as many points, or as few less as can be; of these rather one with
    whom it can take turns to begin, and then one near the highest of the lower half. But whom it
    meets must cost the rest no rematch, and shall leave no more than need be of those with as many
    points without another of them. So there are as few rematches as is possible.

    While all are present, nobody is without a pairing twice before everybody was once.
    """
    present = (one for one in range(len(past.points)) if one not in past.withdrawn)
    rest = sorted(present, key=lambda one: -past.points[one])
    idle: list[int] = []
    if len(rest) % 2:
        idle = [_without_pairing(rest, past)]
        rest.remove(idle[0])
    pairings: list[tuple[int, int]] = []
    while rest:
        one, other = rest[0], _opponent(rest, past)
        rest = _without(rest, one, other)
        pairings.append(_in_turn(one, other, past, even_board=len(pairings) % 2 == 1))
    return tuple(pairings), tuple(idle)


def _without_pairing(ranked: list[int], past: PreviousRounds) -> int:
    fewest = min(past.byes[one] for one in ranked)
    candidates = [one for one in reversed(ranked) if past.byes[one] == fewest]
    return min(candidates, key=lambda one: _rematches(_without(ranked, one), past))


def _opponent(ranked: list[int], past: PreviousRounds) -> int:
    """Whom the first of them meets."""
    one = ranked[0]
    equals = [other for other in ranked if past.points[other] == past.points[one]]
    fewest, most = _rematches(ranked, past), _new_pairings(equals, past)
    possible = []
    for other in sorted(ranked[1:], key=lambda other: _reluctance(one, other, ranked, past)):
        again = past.times_met[frozenset((one, other))] > 0
        if again + _rematches(_without(ranked, one, other), past) > fewest:
            continue
        inside = other in equals and not again
        if inside + _new_pairings(_without(equals, one, other), past) == most:
            return other
        possible.append(other)
    return possible[0]


def _reluctance(one: int, other: int, ranked: list[int], past: PreviousRounds) -> tuple[float, ...]:
    """How little `one`, the first, is to meet `other`: what counts most is first."""
    points = past.points[other]
    equals = [each for each in ranked if past.points[each] == points]
    wanted = len(equals) // 2 if one in equals else 0
    return (
        past.times_met[frozenset((one, other))],
        past.points[one] - points,
        past.begun[one] * past.begun[other] > 0,
        abs(equals.index(other) - wanted),
        -equals.index(other),
    )


def _in_turn(one: int, other: int, past: PreviousRounds, *, even_board: bool) -> tuple[int, int]:
    """Who has begun less often begins; of equals the higher, or on even boards the lower."""
    ahead = past.begun[one] - past.begun[other]
    return (other, one) if ahead > 0 or (ahead == 0 and even_board) else (one, other)


def _rematches(even: list[int], past: PreviousRounds) -> int:
    """How many there must be among them."""
    return len(even) // 2 - _new_pairings(even, past)


def _new_pairings(among: list[int], past: PreviousRounds) -> int:
    """How many pairings of two who have not met there can be at the same time."""
    graph = {
        one: {
            other for other in among if other != one and not past.times_met[frozenset((one, other))]
        }
        for one in among
    }
    return len(maximum_matching(graph)) // 2


def _without(ranked: list[int], *gone: int) -> list[int]:
    return [one for one in ranked if one not in gone]
