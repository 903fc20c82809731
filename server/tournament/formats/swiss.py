"""Swiss: in each round, entrants with about as many points meet, and no two meet twice."""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from playout.games.core.spec import SpecError
from playout.ratings.pairs import Pair, PairScores
from playout.server.tournament.format import (
    Bye,
    Format,
    absent,
    encounter,
    left_out,
)

#: Maximum number of rounds, with few entrants and with more: a step of the pairing takes 10 ms as
#: soon as all entrants have met 20 others.
MOST_ROUNDS_OF_FEW = 40
FEW_ENTRANTS = 32
MOST_ROUNDS = 16


T = TypeVar("T")
#: Work that yields after each step of a millisecond, and returns its result.
_Steps = Generator[None, None, T]


@dataclass(frozen=True)
class PreviousRounds:
    """The facts of earlier rounds on which the next pairings depend; tuples are indexed by entrant.

    `first_moves`: the number of pairs in which the entrant moved first in the first match, less
    that of the other pairs. `met`: the two entrants of each meeting, once for each time.
    `withdrawn`: the entrants that are no longer paired.
    """

    points: tuple[float, ...]
    byes: tuple[int, ...]
    first_moves: tuple[int, ...]
    met: tuple[frozenset[int], ...] = ()
    withdrawn: frozenset[int] = frozenset()

    @functools.cached_property
    def times_met(self) -> Counter[frozenset[int]]:
        """The number of meetings of each two entrants."""
        return Counter(self.met)

    @functools.cached_property
    def most_met(self) -> int:
        """An upper bound of an entrant's opponents so far: the maximum of its meetings."""
        return max(Counter(one for pair in self.met for one in pair).values(), default=0)


#: The pairings of a round, the entrant with the first move first, and the entrants with a bye.
Pairings = tuple[tuple[tuple[int, int], ...], tuple[int, ...]]
#: Maximum number of rounds whose pairings are cached.
MOST_REMEMBERED = 256
_remembered: dict[PreviousRounds, Pairings] = {}


class Swiss(Format):
    """`rounds` rounds; in each, two entrants that meet play one pair for each game, of one opening.

    A round is paired by `pair_off` when the one before is complete. With an odd number of entrants,
    one has a bye, which is worth as many points as can be won in a round.

    An entrant that is withdrawn forfeits its open pairs to the opponent, as a bye. From the next
    round on it is not paired. A late entrant has no points from the rounds before its first.
    """

    takes_late_entrants = True

    tiebreaks = ("Buchholz", "Sonneborn-Berger")
    shows_rounds = True

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """In each round, half as many encounters as entrants."""
        return rounds * (entrants // 2) * games

    @classmethod
    def check_size(cls, name: str, entrants: int, games: int, rounds: int) -> None:
        """As in any format; in addition, the steps of a round's pairing must be short."""
        super().check_size(name, entrants, games, rounds)
        few = entrants <= FEW_ENTRANTS
        if rounds > (most := MOST_ROUNDS_OF_FEW if few else MOST_ROUNDS):
            of = "" if few else f" with more than {FEW_ENTRANTS} entrants"
            text = f"the format {name!r} allows at most {most} rounds{of}, not {rounds:,}"
            raise SpecError(text)

    def knows_more(self, known: int, results: PairScores) -> bool:
        """Return whether a round is complete, so that the next one is known."""
        return len(results) >= known

    def total(self, known: int, withdrawn: Sequence[int]) -> int | None:
        """Return the number of pairs, None if an entrant was withdrawn or is late."""
        return None if withdrawn or max(self.since) > 1 else self.pair_count().least

    def byes(self, results: PairScores, withdrawn: Sequence[int] = ()) -> list[Bye]:
        return [each for each in self._play(results, withdrawn) if isinstance(each, Bye)]

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair | None]:
        played = self._play(results, withdrawn)
        return (each for each in played if not isinstance(each, Bye))

    def _play(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair | Bye | None]:
        """Yield the pairs and byes of each known round, and None after a step of the pairing."""
        nothing = (0,) * self.entrants
        past = PreviousRounds(nothing, nothing, nothing)
        for number in range(1, self.rounds + 1):
            late = {one for one, first in enumerate(self.since) if first > number}
            pairings, idle = yield from _paired_off(
                replace(past, withdrawn=past.withdrawn | late) if late else past
            )
            pairs = [
                pair
                for board, pairing in enumerate(pairings, start=1)
                for pair in encounter(self.games, (number, board), pairing, opening=number - 1)
            ]
            unplayed = [pair for pair in pairs if left_out(pair, results, withdrawn)]
            byes = [Bye(number, one, 2 * len(self.games)) for one in idle if pairs]
            byes += _walkovers(unplayed, withdrawn)
            yield from pairs
            yield from byes
            if any(pair.key not in results for pair in pairs if pair not in unplayed):
                return
            past = _after(past, pairs, byes, results, withdrawn)


def _walkovers(unplayed: list[Pair], withdrawn: Sequence[int]) -> list[Bye]:
    """Return the byes of entrants whose opponents were withdrawn."""
    won = Counter(
        (pair.key[0], one)
        for pair in unplayed
        for one in pair.entrants
        if one != absent(pair.entrants, withdrawn)
    )
    return [Bye(number, one, 2 * pairs) for (number, one), pairs in won.items()]


def _after(
    past: PreviousRounds,
    pairs: list[Pair],
    byes: list[Bye],
    results: PairScores,
    withdrawn: Sequence[int],
) -> PreviousRounds:
    """Return the facts after another round with these pairs and byes."""
    points, idle, first_moves = list(past.points), list(past.byes), list(past.first_moves)
    gone = set(past.withdrawn)
    for bye in byes:
        points[bye.entrant] += bye.matches
        idle[bye.entrant] += 1
    for pair in pairs:
        if pair.key in results:
            first, second = pair.entrants
            points[first] += results[pair.key].total
            points[second] += 2 - results[pair.key].total
            first_moves[first] += 1
            first_moves[second] -= 1
        elif (one := absent(pair.entrants, withdrawn)) is not None:
            gone.add(one)
    met = dict.fromkeys(frozenset(pair.entrants) for pair in pairs)
    return PreviousRounds(
        tuple(points), tuple(idle), tuple(first_moves), past.met + tuple(met), frozenset(gone)
    )


def _paired_off(past: PreviousRounds) -> _Steps[Pairings]:
    """Return the cached result of `pair_off`: each schedule repeats the earlier rounds."""
    if (known := _remembered.get(past)) is None:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        known = _remembered[past] = yield from pair_off(past)
    return known


def pair_off(past: PreviousRounds) -> _Steps[Pairings]:
    """Return the pairings of a round, the first mover first, and the entrant with a bye.

    Entrants are ranked by points, and among equals as they are listed. If their number is odd, the
    bye goes to the lowest of those with the fewest byes, or to another of these if that avoids
    rematches. From the top, each entrant meets one with equal points, or with the smallest
    difference; among these it prefers one with which the first move can alternate, then one near
    the highest of the lower half. The choice must not cause a rematch among the others, and must
    leave as few entrants as possible without an opponent of equal points. So the number of
    rematches is the least possible.

    While no entrant is withdrawn, none has a second bye before each has had one.
    """
    present = (one for one in range(len(past.points)) if one not in past.withdrawn)
    rest = sorted(present, key=lambda one: -past.points[one])
    idle: list[int] = []
    if len(rest) % 2:
        idle = [(yield from _without_pairing(rest, past))]
        rest.remove(idle[0])
    pairings: list[tuple[int, int]] = []
    while rest:
        one, other = rest[0], (yield from _opponent(rest, past))
        rest = _without(rest, one, other)
        pairings.append(_in_turn(one, other, past, even_board=len(pairings) % 2 == 1))
    return tuple(pairings), tuple(idle)


def _without_pairing(ranked: list[int], past: PreviousRounds) -> _Steps[int]:
    fewest = min(past.byes[one] for one in ranked)
    rematches: dict[int, int] = {}
    for one in reversed(ranked):
        if past.byes[one] == fewest:
            rematches[one] = _rematches(_without(ranked, one), past)
            yield
    return min(rematches, key=rematches.__getitem__)


def _opponent(ranked: list[int], past: PreviousRounds) -> _Steps[int]:
    """Return the opponent of the first of them."""
    one = ranked[0]
    equals = [other for other in ranked if past.points[other] == past.points[one]]
    fewest, most = _rematches(ranked, past), _new_pairings(equals, past)
    groups: dict[float, dict[int, int]] = {}
    for each in ranked:
        group = groups.setdefault(past.points[each], {})
        group[each] = len(group)
    possible = []
    for other in sorted(ranked[1:], key=lambda other: _reluctance(one, other, groups, past)):
        yield
        again = past.times_met[frozenset((one, other))] > 0
        if again + _rematches(_without(ranked, one, other), past) > fewest:
            continue
        inside = other in equals and not again
        if inside + _new_pairings(_without(equals, one, other), past) == most:
            return other
        possible.append(other)
    return possible[0]


def _reluctance(
    one: int, other: int, groups: dict[float, dict[int, int]], past: PreviousRounds
) -> tuple[float, ...]:
    """Return the sort key of an opponent of `one`, the first by rank: the best has the lowest.

    `groups`: for each number of points the entrants that have it, with their rank in the group.
    """
    points = past.points[other]
    equals = groups[points]
    wanted = len(equals) // 2 if past.points[one] == points else 0
    return (
        past.times_met[frozenset((one, other))],
        past.points[one] - points,
        past.first_moves[one] * past.first_moves[other] > 0,
        abs(equals[other] - wanted),
        -equals[other],
    )


def _in_turn(one: int, other: int, past: PreviousRounds, *, even_board: bool) -> tuple[int, int]:
    """Return the two, first the one that had the first move less often.

    Among equals it is the higher, or on even boards the lower.
    """
    ahead = past.first_moves[one] - past.first_moves[other]
    return (other, one) if ahead > 0 or (ahead == 0 and even_board) else (one, other)


def _rematches(even: list[int], past: PreviousRounds) -> int:
    """Return the minimum number of rematches if all of them are paired."""
    return len(even) // 2 - _new_pairings(even, past)


def _new_pairings(among: list[int], past: PreviousRounds) -> int:
    """Return the maximum number of simultaneous pairings of entrants that have not met."""
    if len(among) - 1 - past.most_met >= len(among) // 2:
        # Each has not met half of the others, so that there is a path through all (Dirac 1952).
        return len(among) // 2
    graph = {
        one: {
            other for other in among if other != one and not past.times_met[frozenset((one, other))]
        }
        for one in among
    }
    return len(maximum_matching(graph)) // 2


def _without(ranked: list[int], *gone: int) -> list[int]:
    return [one for one in ranked if one not in gone]


Graph = Mapping[int, Set[int]]


def maximum_matching(graph: Graph) -> dict[int, int]:
    """Return the partner of each matched vertex; no matching of the graph has more edges.

    `graph` has the neighbours of each vertex, in both directions. Edmonds' blossom algorithm
    (Edmonds 1965, "Paths, trees, and flowers"): from each unmatched vertex it searches a path on
    which unmatched and matched edges alternate, with odd cycles shrunk to their base, and exchanges
    the matched and the unmatched edges of the path.
    """
    matched: dict[int, int] = {}
    for one in graph:
        if one not in matched:
            _Search(graph, matched, one).augment()
    return matched


class _Search:
    """A tree of alternating paths from an unmatched vertex."""

    def __init__(self, graph: Graph, matched: dict[int, int], root: int) -> None:
        self.graph = graph
        self.matched = matched
        self.root = root
        self.parent: dict[int, int] = {}  # of vertices at an odd distance from the root
        self.base = {one: one for one in graph}
        self.even = {root}
        self.queue = deque([root])

    def augment(self) -> None:
        """Match the root, too, if an augmenting path from it exists."""
        while self.queue:
            one = self.queue.popleft()
            for other in self.graph[one]:
                if self.base[one] == self.base[other] or self.matched.get(one) == other:
                    continue
                if other in self.even:
                    self._shrink(one, other)
                elif other not in self.parent:
                    self.parent[other] = one
                    if other not in self.matched:
                        self._change_over(other)
                        return
                    self._reach(self.matched[other])

    def _reach(self, one: int) -> None:
        if one not in self.even:
            self.even.add(one)
            self.queue.append(one)

    def _change_over(self, end: int) -> None:
        """Exchange matched and unmatched edges on the path from the root to `end`."""
        one: int | None = end
        while one is not None:
            before = self.parent[one]
            following = self.matched.get(before)
            self.matched[one], self.matched[before] = before, one
            one = following

    def _shrink(self, one: int, other: int) -> None:
        """Shrink an odd cycle: its vertices are also at an even distance, and have one base."""
        base = self._common_base(one, other)
        cycle: set[int] = set()
        self._mark(one, base, other, cycle)
        self._mark(other, base, one, cycle)
        for each in self.graph:
            if self.base[each] in cycle:
                self.base[each] = base
                self._reach(each)

    def _common_base(self, one: int, other: int) -> int:
        """Return the base at which the paths of both to the root meet."""
        above = {self.base[one]}
        while self.base[one] != self.base[self.root]:
            one = self.parent[self.matched[self.base[one]]]
            above.add(self.base[one])
        while self.base[other] not in above:
            other = self.parent[self.matched[self.base[other]]]
        return self.base[other]

    def _mark(self, one: int, base: int, child: int, cycle: set[int]) -> None:
        while self.base[one] != base:
            mate = self.matched[one]
            cycle |= {self.base[one], self.base[mate]}
            self.parent[one] = child
            child, one = mate, self.parent[mate]
