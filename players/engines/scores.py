"""Evaluations of engines as win rates."""

from __future__ import annotations


def win_rate(centipawns: float) -> float:
    """Return a win rate from 0 to 1 for an evaluation in hundredths of a pawn.

    The expectation of the Elo model, 1 / (1 + 10^(-centipawns / 400)).
    """
    bounded = max(-10_000.0, min(10_000.0, centipawns))
    return float(1 / (1 + 10.0 ** (-bounded / 400)))
