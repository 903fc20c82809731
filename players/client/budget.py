"""How long to think about a move, from what the clock says."""

from __future__ import annotations

from players.core.player import Limit
from server.model.messages import ClockState, TimeControl

#: What a move costs beside thinking and the network, and the share of a short time it may take.
OVERHEAD_S = 0.02
OVERHEAD_SHARE = 0.7
#: Of an even share of the main time. What is left falls with this power of the moves left, so that
#: the first half of the match gets 1 - 0.5^1.5, about 65 %.
EAGERNESS = 1.5
#: Of each increment; the rest is saved, up to the double of what a move takes.
INCREMENT_SHARE = 0.8
#: How many moves of one's own are expected at least, and at most.
FEWEST_MOVES, MOST_MOVES = 8, 30
LEAST_S = 0.001


def limit_for_move(
    control: TimeControl | None, left: ClockState | None, *, lag_s: float, ply: int, max_plies: int
) -> Limit:
    """The time to think about move number `ply` of at most `max_plies`; none without a clock.

    `lag_s` is the time that a message takes to the server and back. Main time is spread over the
    moves that are expected, and never more than half of it goes into one where no period follows.
    A period is used nearly to its end, because what is left of it is lost.
    """
    if control is None or left is None:
        return Limit()
    main_s, period_s = _main_and_period(control, left)
    overhead_s = lag_s + _overhead(control, max_plies)
    moves = _own_moves(max_plies - ply)
    expected = min(MOST_MOVES, max(FEWEST_MOVES, moves))
    if control.periods:
        share_s = min(main_s, EAGERNESS * main_s / expected)
        seconds = share_s + period_s - overhead_s
    else:
        gain_s = control.increment_s - overhead_s
        spare_s = main_s - overhead_s + (moves - 1) * min(0.0, gain_s)
        share_s = EAGERNESS * spare_s / expected + INCREMENT_SHARE * max(0.0, gain_s)
        seconds = min(share_s, spare_s / 2)
    seconds = max(LEAST_S, seconds)
    return Limit(seconds, time_carries_over=seconds <= main_s)


def _main_and_period(control: TimeControl, left: ClockState) -> tuple[float, float]:
    """What is left of the main time, and how much of a period one move may use."""
    if left.periods < control.periods:  # a reading counts the rest of a period as main time
        return 0.0, left.main_s or control.period_s
    return left.main_s, control.period_s


def _overhead(control: TimeControl, max_plies: int) -> float:
    """The same throughout a match, so that what is kept back for it is enough to the end."""
    pace_s = control.period_s or control.main_s / _own_moves(max_plies) + control.increment_s
    return min(OVERHEAD_S, OVERHEAD_SHARE * pace_s)


def _own_moves(plies: int) -> int:
    return max(1, (plies + 1) // 2)
