"""Decides how long to think about a move, given the state of the clock."""

from __future__ import annotations

from players.core.player import Limit
from server.model.messages import ClockState, TimeControl

#: The time that a move takes besides thinking and the network, and the largest share of a short
#: time that is set aside for it.
OVERHEAD_S = 0.02
OVERHEAD_SHARE = 0.7
#: A move gets this multiple of an even share of the main time. The rest then falls with this power
#: of the moves left, so that the first half of the match gets 1 - 0.5^1.5, about 65 %.
EAGERNESS = 1.5
#: A move gets this share of each increment; the rest is saved, up to twice the time of a move.
INCREMENT_SHARE = 0.8
#: Bounds of the expected number of own moves.
FEWEST_MOVES, MOST_MOVES = 8, 30
LEAST_S = 0.001


def limit_for_move(
    time_control: TimeControl | None,
    left: ClockState | None,
    *,
    lag_s: float,
    ply: int,
    max_plies: int,
) -> Limit:
    """The limit for move number `ply` of at most `max_plies`; no limit without a clock.

    `lag_s` is the time that a message takes to the server and back. Main time is spread over the
    expected moves, and at most half of it goes into one move if no period follows. A period is used
    nearly to its end, because unused time of a period is lost.
    """
    if time_control is None or left is None:
        return Limit()
    main_s, period_s = _main_and_period(time_control, left)
    overhead_s = lag_s + _overhead(time_control, max_plies)
    moves = _own_moves(max_plies - ply)
    expected = min(MOST_MOVES, max(FEWEST_MOVES, moves))
    if time_control.periods:
        share_s = min(main_s, EAGERNESS * main_s / expected)
        seconds = share_s + period_s - overhead_s
    else:
        gain_s = time_control.increment_s - overhead_s
        spare_s = main_s - overhead_s + (moves - 1) * min(0.0, gain_s)
        share_s = EAGERNESS * spare_s / expected + INCREMENT_SHARE * max(0.0, gain_s)
        seconds = min(share_s, spare_s / 2)
    seconds = max(LEAST_S, seconds)
    return Limit(seconds, time_carries_over=seconds <= main_s)


def _main_and_period(time_control: TimeControl, left: ClockState) -> tuple[float, float]:
    """The remaining main time, and the part of a period that one move may use."""
    if left.periods < time_control.periods:  # then `main_s` is the rest of the present period
        return 0.0, left.main_s or time_control.period_s
    return left.main_s, time_control.period_s


def _overhead(time_control: TimeControl, max_plies: int) -> float:
    """The same for all moves of a match, so that the time set aside lasts until its end."""
    per_move_s = time_control.main_s / _own_moves(max_plies) + time_control.increment_s
    return min(OVERHEAD_S, OVERHEAD_SHARE * (time_control.period_s or per_move_s))


def _own_moves(plies: int) -> int:
    return max(1, (plies + 1) // 2)
