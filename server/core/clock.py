"""Clocks. One notation, one arithmetic, and no idea what time it is: `now` comes in.

| notation | means |
| --- | --- |
| `1/move` | a second for each move |
| `300+3` | 300 seconds in all, and 3 more with each move (Fischer) |
| `600+5x30` | 600 seconds, then five periods of 30 seconds; a period is used up when it runs out |
| `none` | no clock |

All are main time with an increment, followed by periods: `1/move` is one period of a second.
"""

from __future__ import annotations

import math
import re

from server.model.messages import ClockState, TimeControl

_NUMBER = r"([0-9]{1,6}(?:\.[0-9]{1,3})?)"
_PER_MOVE = re.compile(rf"{_NUMBER}/move")
_FISCHER = re.compile(rf"{_NUMBER}\+{_NUMBER}")
_BYO_YOMI = re.compile(rf"{_NUMBER}\+([0-9]{{1,3}})x{_NUMBER}")

ALLOWED = "1/move, 300+3, 600+5x30 (seconds) or none"


class ClockError(ValueError):
    """A clock notation that cannot be used."""


def parse(text: str) -> TimeControl | None:
    """The control that `text` describes, None for `none`. Raises ClockError."""
    text = text.strip().lower()
    if text == "none":
        return None
    control = None
    if found := _PER_MOVE.fullmatch(text):
        control = TimeControl(0.0, 0.0, 1, float(found[1]))
    elif found := _FISCHER.fullmatch(text):
        control = TimeControl(float(found[1]), float(found[2]), 0, 0.0)
    elif found := _BYO_YOMI.fullmatch(text):
        control = TimeControl(float(found[1]), 0.0, int(found[2]), float(found[3]))
    if control is None or not _usable(control):
        why = "write it as" if control is None else "it gives no time; use one like"
        raise ClockError(f"cannot use the clock {text[:50]!r}: {why} {ALLOWED}")
    return control


def spell(control: TimeControl | None) -> str:
    """The notation of a control, the same for equal ones."""
    if control is None:
        return "none"
    main, increment, period = map(decimal, (control.main_s, control.increment_s, control.period_s))
    if control.periods == 1 and not control.main_s:
        return f"{period}/move"
    return f"{main}+{control.periods}x{period}" if control.periods else f"{main}+{increment}"


def decimal(number: float) -> str:
    """To the thousandth, without zeros at the end."""
    return f"{number:.3f}".rstrip("0").rstrip(".")


def _usable(control: TimeControl) -> bool:
    """Is there time to begin with, and are periods of some length?"""
    if control.periods or control.period_s:
        return control.periods * control.period_s > 0
    return control.main_s > 0


class Clock:
    """Two players' time. It runs for one of them, or for nobody."""

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        full = ClockState(control.main_s, control.periods)
        self._left = {1: full, 2: full}
        self._running = 0
        self._since = 0.0

    def start(self, seat: int, now: float) -> None:
        """The clock of `seat` runs from now on."""
        self._running, self._since = seat, now

    def stop(self, now: float, credit_s: float = 0.0) -> bool:
        """The running player has moved; False if that was too late.

        `credit_s` is time that the move spent on the way and that is not counted.
        """
        seat = self._running
        left, used_s = self._left[seat], max(0.0, now - credit_s - self._since)
        after = self._after(left, used_s)
        self._running = 0
        self._left[seat] = after or ClockState(0.0, 0)
        if after:
            self._left[seat] = ClockState(after.main_s + self.control.increment_s, after.periods)
        return after is not None

    def halt(self) -> None:
        """Nobody's clock runs any more."""
        self._running = 0

    def set(self, left: tuple[ClockState, ClockState]) -> None:
        """Both have this much left, and nobody's clock runs."""
        self._running = 0
        self._left = {1: left[0], 2: left[1]}

    def clock_states(self, now: float) -> tuple[ClockState, ClockState]:
        """What both have left now."""
        return self._reading(1, now), self._reading(2, now)

    def flag_at(self) -> float | None:
        """When the running player's time is up."""
        if not self._running:
            return None
        left = self._left[self._running]
        return self._since + left.main_s + left.periods * self.control.period_s

    def _reading(self, seat: int, now: float) -> ClockState:
        left = self._left[seat]
        if seat != self._running:
            return left
        used_s = max(0.0, now - self._since)
        if used_s <= left.main_s:
            return ClockState(left.main_s - used_s, left.periods)
        # A period that has begun is no whole one: what is left of it counts as main time.
        period_s = self.control.period_s
        total_s = max(0.0, left.main_s + left.periods * period_s - used_s)
        whole = int(total_s / period_s) if period_s else 0
        return ClockState(total_s - whole * period_s, whole)

    def _after(self, left: ClockState, used_s: float) -> ClockState | None:
        """What is left after `used_s`; None if it was more than there was."""
        if used_s <= left.main_s:
            return ClockState(left.main_s - used_s, left.periods) if used_s else left
        over_s = used_s - left.main_s
        if over_s > left.periods * self.control.period_s:
            return None
        # A period that ends on the dot is still kept, and so is the last, however this rounds.
        begun = min(left.periods, math.ceil(over_s / self.control.period_s))
        return ClockState(0.0, left.periods - begun + 1)
