"""Decides how long to think about a move, given the state of the clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
    expected moves, and at most half of it goes into one move if no period follows. A period and a
    delay are used nearly to their end, because their unused time is lost.
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
        delay_s = max(0.0, clocks[seat - 1].delay_s - overhead_s)
        gain_s = time_control.increment_s + time_control.delay_s - overhead_s
        spare_s = main_s - overhead_s + (moves - 1) * min(0.0, gain_s)
        share_s = EAGERNESS * spare_s / expected
        if time_control.increment_s:
            share_s += INCREMENT_SHARE * max(0.0, gain_s)
        seconds = min(share_s, spare_s / 2) + delay_s
    seconds = max(LEAST_S, seconds)
    start = TimeLeft(time_control.main_s, time_control.periods, time_control.period_s)
    delay_s, increment_s = time_control.delay_s, time_control.increment_s
    clock = MatchClock(start, increment_s, left, overhead_s, delay_s)
    return Limit(seconds, time_carries_over=delay_s < seconds <= main_s, clock=clock)


@dataclass
class ReportedClock:
    """The time of a player as another program reports it, such as over GTP or UCI.

    `control` is the time control, None without one. `left` has what is left by seat, for the seats
    of which it is known; the others have the full time. `moves` is the number of moves after which
    the clock gets more time; 0 if it is unknown. `move_s` are the seconds in which each single move
    has to be chosen.
    """

    control: TimeControl | None = None
    left: dict[int, ClockState] = field(default_factory=dict)
    moves: int = 0
    move_s: float | None = None

    def of(self, seat: int) -> ClockState:
        """Return the remaining time of a seat; there must be a time control."""
        assert self.control
        return self.left.get(seat, ClockState(self.control.main_s, self.control.periods))

    def used(self, seat: int, seconds: float) -> None:
        """Subtract the time of a move, for programs that do not report what is left."""
        if self.control:
            left = self.of(seat)
            in_period = left.periods < self.control.periods
            main_s = 0.0 if in_period else max(0.0, left.main_s - seconds)
            self.left[seat] = ClockState(main_s, left.periods)

    def limit(self, seat: int, *, ply: int, max_plies: int, lag_s: float = 0.0) -> Limit:
        """Return the limit for move number `ply` of at most `max_plies`, for the player in `seat`.

        It is the smaller one of those by the clock and of a single move; without both, there is
        none. `lag_s` seconds of the clock pass outside the player.
        """
        limits = []
        if self.move_s is not None:
            limits.append(Limit(self.move_s))
        if self.control:
            limits.append(self._by_clock(self.control, seat, ply, max_plies, lag_s))
        return min(limits, key=lambda each: each.seconds or 0.0, default=Limit())

    def _by_clock(
        self, control: TimeControl, seat: int, ply: int, max_plies: int, lag_s: float
    ) -> Limit:
        if self.moves:
            max_plies = min(max_plies, ply + 2 * self.moves)
        clocks = self.of(1), self.of(2)
        limit = limit_for_move(control, clocks, seat, lag_s=lag_s, ply=ply, max_plies=max_plies)
        if not self.moves:
            return limit
        # An even share, with one more move, for safety.
        even_s = (self.of(seat).main_s - lag_s * self.moves) / (self.moves + 1)
        return replace(limit, seconds=max(limit.seconds or LEAST_S, even_s))


def _time_left(time_control: TimeControl, clock: ClockState) -> TimeLeft:
    """Return the time on a clock, with the current period among the periods."""
    if clock.periods == time_control.periods:
        return TimeLeft(clock.main_s, clock.periods, time_control.period_s)
    if clock.main_s:  # of the current period, which the server no longer counts
        return TimeLeft(0.0, clock.periods + 1, clock.main_s)
    return TimeLeft(0.0, clock.periods, time_control.period_s)


def _overhead(time_control: TimeControl, max_plies: int) -> float:
    """Return the reserve of a move, the same for all moves, so that it lasts to the end."""
    gain_s = time_control.increment_s + time_control.delay_s
    per_move_s = time_control.main_s / _own_moves(max_plies) + gain_s
    return min(OVERHEAD_S, OVERHEAD_SHARE * (time_control.period_s or per_move_s))


def _own_moves(plies: int) -> int:
    return max(1, (plies + 1) // 2)
