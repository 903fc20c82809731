"""What stored matches took, and what of it their bots spent thinking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from server.model.records import StoredMatch


def span_s(matches: Sequence[StoredMatch]) -> float:
    """Return the seconds from the start of the first match to the end of the last."""
    ends = [match.ended.at for match in matches if match.ended]
    return max(ends) - min(match.started.at for match in matches)


def thinking_s(matches: Iterable[StoredMatch]) -> float:
    """Return the sum of the thinking times that the players report."""
    thoughts = (move.info for match in matches for move in match.moves)
    return sum(info.seconds or 0.0 for info in thoughts if info)
