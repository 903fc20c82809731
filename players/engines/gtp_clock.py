"""Clocks in GTP: sent to an engine that plays here, and received by our own engine.

GTP has whole seconds: main time, and then stones to play in a period. `kgs-time_settings` adds
periods as Playout has them, `kata-time_settings` increments. To an engine without these commands,
several periods are told as main time and one period, and an increment as a period for one stone,
whose first is part of the main time.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Container

from playout.players.core.budget import ReportedClock
from playout.players.core.player import MatchClock, TimeLeft
from playout.players.engines.gtp_text import GtpError, seconds, whole_number
from playout.protocol.messages import ClockState, TimeControl

_KGS, _KATA, _PLAIN = "kgs-time_settings", "kata-time_settings", "time_settings"
#: The highest number of stones or periods.
_MOST = 10**6


def settings(clock: MatchClock, commands: Container[str]) -> str:
    """Return the command for a time control; empty if the engine has none for it."""
    start, overhead_s = clock.start, clock.overhead_s
    main, period_s = _whole(start.main_s) if start.main_s else 0, start.period_s - overhead_s
    if start.periods > 1 and _KGS in commands:
        return f"{_KGS} byoyomi {main} {_whole(period_s)} {start.periods}"
    if clock.increment_s and _KATA in commands:
        return f"{_KATA} fischer {start.main_s:g} {clock.increment_s:g}"
    if _PLAIN not in commands:
        return ""
    if start.periods:
        later = math.floor((start.periods - 1) * start.period_s)
        return f"{_PLAIN} {main + later} {_whole(period_s)} 1"
    if clock.increment_s:
        increment = _whole(clock.increment_s)
        return f"{_PLAIN} {max(0, main - increment)} {increment} 1"
    return f"{_PLAIN} {main} 0 0"


def time_left(clock: MatchClock, left: TimeLeft, given: str) -> str:
    """Return a clock for `time_left`: seconds, and the periods or stones, 0 in main time.

    `given` is the command for the time control.
    """
    main_s = left.main_s - clock.overhead_s
    if clock.start.periods:
        stones = left.periods
        if not given.startswith(_KGS):
            main_s += max(0, left.periods - 1) * clock.start.period_s
            stones = 1
        period_s = left.period_s - clock.overhead_s
        return f"{_whole(main_s)} 0" if main_s >= 1 else f"{_whole(period_s)} {stones}"
    if clock.increment_s and not given.startswith(_KATA):
        early_s = main_s - clock.increment_s
        return f"{_whole(early_s)} 0" if early_s >= 1 else f"{_whole(main_s)} 1"
    return f"{_whole(main_s)} 0"


def _whole(seconds: float) -> int:
    """Whole seconds, rounded down, at least 1: engines take 0 as no limit."""
    return max(1, math.floor(seconds))


class GtpClock(ReportedClock):
    """The time settings that our engine was sent, and the time that each seat has left.

    `time_left` is taken over when it comes. Without it, the time of the own moves is subtracted:
    some programs, such as gogui-twogtp, send the settings only.
    """

    #: Whether an overtime is shared by several moves.
    _canadian = False

    def copy(self) -> GtpClock:
        """Return a clock with the same settings and the same times."""
        other = copy.copy(self)
        other.left = dict(self.left)
        return other

    def restart(self) -> None:
        """Give both seats the full time, for a new match."""
        self.left = {}

    def set(self, main: str, overtime: str, stones: str) -> None:
        """Handle `time_settings`: times in seconds, Canadian overtime. Raises GtpError.

        An overtime without stones means no limit, and so does no time at all.
        """
        main_s, overtime_s = seconds(main), seconds(overtime)
        number = whole_number(stones, 0, _MOST)
        if overtime_s and number:
            self._use(TimeControl(main_s, 0.0, 1, overtime_s / number), canadian=True)
        else:
            unlimited = overtime_s > 0 or not main_s
            self._use(None if unlimited else TimeControl(main_s, 0.0, 0, 0.0))

    def set_kgs(self, arguments: list[str]) -> None:
        """Handle `kgs-time_settings`: none, absolute, byoyomi or canadian. Raises GtpError."""
        match [arguments[0].lower(), *arguments[1:]]:
            case ["none"]:
                self._use(None)
            case ["absolute", main]:
                self.set(main, "0", "0")
            case ["byoyomi", main, period, periods]:
                number = whole_number(periods, 1, _MOST)
                if not seconds(period):
                    raise GtpError("the time of a period must be above 0 seconds")
                self._use(TimeControl(seconds(main), 0.0, number, seconds(period)))
            case ["canadian", main, overtime, stones]:
                self.set(main, overtime, stones)
            case _:
                raise GtpError(
                    "expected none, absolute MAIN, byoyomi MAIN PERIOD PERIODS or "
                    "canadian MAIN OVERTIME STONES"
                )

    def set_left(self, seat: int, time: str, stones: str) -> None:
        """Handle `time_left`: main time if there are no stones, otherwise overtime.

        Stones are those left to play in Canadian overtime, or the periods left. Raises GtpError.
        """
        left_s, number = seconds(time), whole_number(stones, 0, _MOST)
        control = self.control or TimeControl(left_s, 0.0, 0, 0.0)
        if number and not control.periods:
            control = TimeControl(control.main_s, 0.0, 1, left_s / number)
            self._canadian = True
        self.control = control
        if not number:
            self.left[seat] = ClockState(left_s, control.periods)
        elif self._canadian:
            self.left[seat] = ClockState(left_s / number, 0)
        else:
            self.left[seat] = ClockState(left_s, min(number, control.periods) - 1)

    def _use(self, control: TimeControl | None, *, canadian: bool = False) -> None:
        self.control, self._canadian = control, canadian
        self.restart()
