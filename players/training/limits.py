"""How far a run is on its way to its limits, and how long it will take."""

from __future__ import annotations

from players.training.record import RoundRecord
from players.training.settings import Limits

#: The place of the evaluations among the shares of the limits.
_EVALUATIONS = 1


def progress(limits: Limits, last: RoundRecord | None) -> float:
    """Return the share of the run that is done, from 0 to 1; 0 without limits."""
    return min(1.0, max(_shares(limits, last))) if last else 0.0


def is_over(limits: Limits, last: RoundRecord | None) -> bool:
    """Return whether a limit has been reached."""
    return progress(limits, last) >= 1.0


def remaining_s(limits: Limits, last: RoundRecord) -> float | None:
    """Return the estimated seconds until the first limit, None if that is unknown.

    In the first rounds playouts may evaluate, not the net: of all rounds and the last one, that
    with more evaluations a second counts.
    """
    shares = _shares(limits, last)
    rates = [share / last.seconds if last.seconds else 0.0 for share in shares]
    if limits.evaluations:
        in_last_round = last.evaluations_per_s * (1 - last.learning_share) / limits.evaluations
        rates[_EVALUATIONS] = max(rates[_EVALUATIONS], in_last_round)
    known = [(share, rate) for share, rate in zip(shares, rates, strict=True) if rate]
    return min(((1 - min(1.0, share)) / rate for share, rate in known), default=None)


def _shares(limits: Limits, last: RoundRecord | None) -> list[float]:
    """The share of each limit that is used up; 0 for no limit."""
    if last is None:
        return [0.0]
    used = (last.round, last.evaluations, last.seconds / 60)
    allowed = (limits.rounds, limits.evaluations, limits.minutes)
    return [used_ / limit if limit else 0.0 for used_, limit in zip(used, allowed, strict=True)]
