"""Who meets whom next on a ladder: those near in strength that have not met for the longest time.

Each version meets the ones nearest in rating in turn, so that most matches are between neighbours,
where a result says most. There are no rounds: whenever somebody is free, a pair may begin.

When a pair ends, its two players are often the only free ones. If they met at once again, they
would meet forever. So as long as other matches run, whose players become free soon, they wait for
one of the others near them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

#: The number of opponents that a version meets in turn: those nearest in rating.
NEAREST: Final = 4

#: Two versions by their places on the ladder, the smaller first.
Meeting = tuple[int, int]


class Contender(NamedTuple):
    """A version that is on the ladder now. Accounts do not meet themselves.

    `place` identifies it; `since` is the number of the ladder's match after which it was free.
    """

    place: int
    account: str
    rating: float
    since: int


def meeting(one: int, other: int) -> Meeting:
    """Return the two places in the order in which meetings are counted."""
    return (one, other) if one < other else (other, one)


def next_pair(
    present: Sequence[Contender],
    free: Sequence[Contender],
    met: Mapping[Meeting, int],
    running: frozenset[Meeting] = frozenset(),
) -> tuple[int, int] | None:
    """Return the places of two free contenders that should play a pair now; None to wait.

    `present`: all that are on the ladder, also those that play. `met`: for each two that have met,
    the number of the ladder's match in which they last did. `running`: the meetings that are being
    played. The contender that has waited longest comes first.
    """
    near = {each.place: _nearest(each, present) for each in present}
    for one in sorted(free, key=lambda each: (each.since, each.place)):
        rivals = [
            other
            for other in free
            if other.account != one.account and meeting(one.place, other.place) not in running
        ]
        if running:
            rivals = [
                other
                for other in rivals
                if (other.place in near[one.place] or one.place in near[other.place])
                and not _have_just_met(one, other, met)
            ]
        if rivals:
            other = min(rivals, key=lambda each: _preference(one, each, near[one.place], met))
            return one.place, other.place
    return None


def _preference(
    one: Contender, other: Contender, near: frozenset[int], met: Mapping[Meeting, int]
) -> tuple[bool, int, float, int]:
    """A key by which the best opponent comes first."""
    last = met.get(meeting(one.place, other.place), 0)
    return other.place not in near, last, abs(one.rating - other.rating), other.place


def _nearest(one: Contender, present: Sequence[Contender]) -> frozenset[int]:
    """The places of the contenders of other accounts that are nearest in rating."""
    others = [each for each in present if each.account != one.account]
    others.sort(key=lambda each: (abs(each.rating - one.rating), each.place))
    return frozenset(each.place for each in others[:NEAREST])


def _have_just_met(one: Contender, other: Contender, met: Mapping[Meeting, int]) -> bool:
    """Whether the last match of both was against each other."""
    last = met.get(meeting(one.place, other.place), 0)
    return last > 0 and one.since == other.since == last
