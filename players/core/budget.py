"""Decides how long to think about a move, given the state of the clock."""

from __future__ import annotations

from playout.players.core.player import Limit, MatchClock, TimeLeft
from playout.protocol.messages import ClockState, TimeControl

#: The time that a move takes besides thinking and the network, and the largest share of a move's
#: time that is reserved for it.
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
    clocks: tuple[ClockState, ClockState] | None,
    seat: int,
    *,
    lag_s: float,
    ply: int,
    max_plies: int,
    opponent: TimeControl | None = None,
) -> Limit:
    """Return the limit for move number `ply` of at most `max_plies`, for the player in `seat`.

    Without a clock there is no limit. `lag_s` is the time that a message takes to the server and
    back; `opponent` is the opponent's time control, if it differs. Main time is spread over the
    expected moves, and at most half of it goes into one move if no period follows. A period is used
    nearly to its end, because its unused time is lost.
    """
    if time_control is None or clocks is None:
        return Limit()
    other = opponent or time_control
    first, second = (time_control, other) if seat == 1 else (other, time_control)
    left = (_time_left(first, clocks[0]), _time_left(second, clocks[1]))
    main_s, period_s = left[seat - 1].main_s, left[seat - 1].period_s
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
    start = TimeLeft(time_control.main_s, time_control.periods, time_control.period_s)
    clock = MatchClock(start, time_control.increment_s, left, overhead_s)
    return Limit(seconds, time_carries_over=seconds <= main_s, clock=clock)


def _time_left(time_control: TimeControl, clock: ClockState) -> TimeLeft:
    """Return the time on a clock, with the present period among the periods."""
    if clock.periods == time_control.periods:
        return TimeLeft(clock.main_s, clock.periods, time_control.period_s)
    if clock.main_s:  # of the present period, which the server no longer counts
        return TimeLeft(0.0, clock.periods + 1, clock.main_s)
    return TimeLeft(0.0, clock.periods, time_control.period_s)


def _overhead(time_control: TimeControl, max_plies: int) -> float:
    """Return the reserve of a move, the same for all moves, so that it lasts to the end."""
    per_move_s = time_control.main_s / _own_moves(max_plies) + time_control.increment_s
    return min(OVERHEAD_S, OVERHEAD_SHARE * (time_control.period_s or per_move_s))


def _own_moves(plies: int) -> int:
    return max(1, (plies + 1) // 2)
