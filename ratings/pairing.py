"""Pairings on ladders: players of similar strength that have not met for the longest time.

Each version meets the nearest ones in rating in turn, because the result of a match between
neighbours has the most information. On a ladder that bots enter and leave there are no rounds: a
pair may begin whenever two are free.

When a pair ends, its two players are often the only free ones. If they met again at once, they
would meet forever. So while other matches run, whose players become free soon, they wait for other
opponents near them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

#: The number of opponents that a version meets in turn: those nearest in rating.
NEAREST: Final = 4

#: Two versions by their indices on the ladder, the smaller first.
Meeting = tuple[int, int]


class Contender(NamedTuple):
    """A version that is on the ladder now; two versions of one account never meet.

    `number` is its index in the ladder's entries. `since` is the number of the ladder's match after
    which it was free.
    """

    number: int
    account: str
    rating: float
    since: int


def meeting(one: int, other: int) -> Meeting:
    """Return the two indices in the order in which meetings are counted."""
    return (one, other) if one < other else (other, one)


def next_pair(
    present: Sequence[Contender],
    free: Sequence[Contender],
    met: Mapping[Meeting, int],
    running: frozenset[Meeting] = frozenset(),
) -> tuple[int, int] | None:
    """Return the indices of two free contenders that should play a pair now; None to wait.

    `present`: all versions on the ladder, including those that play. `met`: for each two that have
    met, the number of the ladder's match in which they met last. `running`: the meetings of running
    matches. The contender that has waited longest is paired first.
    """
    by_number = {each.number: each for each in present}

    @functools.cache
    def near(number: int) -> frozenset[int]:
        return _nearest(by_number[number], present)

    for one in sorted(free, key=lambda each: (each.since, each.number)):
        rivals = [
            other
            for other in free
            if other.account != one.account and meeting(one.number, other.number) not in running
        ]
        if running:
            rivals = [
                other
                for other in rivals
                if (other.number in near(one.number) or one.number in near(other.number))
                and not _have_just_met(one, other, met)
            ]
        if rivals:
            other = min(rivals, key=lambda each: _preference(one, each, near(one.number), met))
            return one.number, other.number
    return None


def _preference(
    one: Contender, other: Contender, near: frozenset[int], met: Mapping[Meeting, int]
) -> tuple[bool, int, float, int]:
    """The sort key of an opponent; the best one has the smallest."""
    last = met.get(meeting(one.number, other.number), 0)
    return other.number not in near, last, abs(one.rating - other.rating), other.number


def _nearest(one: Contender, present: Sequence[Contender]) -> frozenset[int]:
    """The indices of the contenders of other accounts that are nearest in rating."""
    others = [each for each in present if each.account != one.account]
    others.sort(key=lambda each: (abs(each.rating - one.rating), each.number))
    return frozenset(each.number for each in others[:NEAREST])


def _have_just_met(one: Contender, other: Contender, met: Mapping[Meeting, int]) -> bool:
    """Whether the last match of both was against each other."""
    last = met.get(meeting(one.number, other.number), 0)
    return last > 0 and one.since == other.since == last
