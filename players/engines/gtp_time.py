"""Clocks as GTP has them: in whole seconds, as main time and stones to play in a period.

`kgs-time_settings` adds periods as Playout has them, `kata-time_settings` increments; for an engine
without these, several periods are main time and one period, and an increment is a period for one
stone, whose first is part of the main time.
"""

from __future__ import annotations

import math
from collections.abc import Container

from players.core.player import MatchClock, TimeLeft

_KGS, _KATA, _PLAIN = "kgs-time_settings", "kata-time_settings", "time_settings"


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
