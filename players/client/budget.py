"""How long to think about a move, from what the clock says."""

from __future__ import annotations

from server.messages import Control, Reading

#: What a move costs beside thinking and the network, and the share of a short period it may take.
OVERHEAD_S = 0.02
OVERHEAD_SHARE = 0.25


def seconds_for_move(
    control: Control | None, left: Reading | None, *, lag_s: float, plies_left: int
) -> float | None:
    """Seconds to think; None where there is no clock.

    `lag_s` is the time that a message takes to the server and back, `plies_left` how long the
    match can still be. Main time is spread over the moves that may come, and a period is used
    nearly to its end, because what is left of it is lost.
    """
    if control is None or left is None:
        return None
    moves = min(30, max(8, plies_left // 2))
    if left.periods:
        spend = left.main_s / moves + control.period_s
        most = left.main_s + control.period_s
    else:
        spend = left.main_s / moves + 0.8 * control.increment_s
        most = left.main_s
    overhead = lag_s + min(OVERHEAD_S, OVERHEAD_SHARE * most)
    return max(0.001, min(spend, most) - overhead)
