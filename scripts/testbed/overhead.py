"""What stored matches took, what their bots did in that time, and how many were lost on time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from server.model.messages import Analysis, Reason
from server.model.records import StoredMatch


def span_s(matches: Sequence[StoredMatch]) -> float:
    """Return the seconds from the start of the first match to the end of the last."""
    ends = [match.ended.at for match in matches if match.ended]
    return max(ends) - min(match.started.at for match in matches)


def thinking_s(matches: Iterable[StoredMatch]) -> float:
    """Return the sum of the thinking times that the players report."""
    return sum(each.seconds or 0.0 for each in _thoughts(matches))


def simulations(matches: Iterable[StoredMatch]) -> int:
    """Return the sum of the simulations that the players report."""
    return sum(each.simulations or 0 for each in _thoughts(matches))


def lost_on_time(matches: Iterable[StoredMatch]) -> int:
    """Return the number of matches that were lost on time."""
    return sum(match.ended is not None and match.ended.reason is Reason.TIME for match in matches)


def _thoughts(matches: Iterable[StoredMatch]) -> Iterator[Analysis]:
    return (move.info for match in matches for move in match.moves if move.info)
