"""The limit of a search: that of the match and that of the player's own options together."""

from __future__ import annotations

from dataclasses import replace

from players.core.player import Limit

#: Seconds for a move without any limit.
DEFAULT_S = 1.0


def tighter(given: Limit, own: Limit) -> Limit:
    """Return the smaller of both limits; without any limit, DEFAULT_S seconds."""
    seconds = min((s for s in (given.seconds, own.seconds) if s is not None), default=None)
    simulations = min(
        (n for n in (given.simulations, own.simulations) if n is not None), default=None
    )
    if seconds is None and simulations is None:
        seconds = DEFAULT_S
    return replace(given, seconds=seconds, simulations=simulations)
