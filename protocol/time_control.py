"""The notation of time controls: parsing, and a canonical form.

| notation | means |
| --- | --- |
| `1/move` | one second for each move |
| `300+3` | 300 seconds of main time, and 3 more with each move (Fischer) |
| `600+5x30` | 600 seconds of main time, then five periods of 30 seconds each |
| `120d12` | 120 seconds of main time, which run after the first 12 seconds of each turn (delay) |
| `none` | no clock |

All are main time with an increment, followed by periods: `1/move` is one period of one second.
A move within a period does not use it up; a period that runs out is lost.

A match in which the players have different time controls has both, the first player's before a
bar: `60+1 | 10+0.1`.
"""

from __future__ import annotations

import functools
import re
from typing import Final, Literal, get_args

from msgspec import structs

from playout.protocol.messages import ClockState, TimeControl

#: Between the time controls of two players.
_BAR = " | "
_NUMBER = r"([0-9]{1,6}(?:\.[0-9]{1,3})?)"
_PER_MOVE = re.compile(rf"{_NUMBER}/move")
_FISCHER = re.compile(rf"{_NUMBER}\+{_NUMBER}")
_BYO_YOMI = re.compile(rf"{_NUMBER}\+([0-9]{{1,3}})x{_NUMBER}")
_DELAY = re.compile(rf"{_NUMBER}d{_NUMBER}")

NOTATIONS = "1/move, 300+3, 600+5x30, 120d12 (seconds) or none"

#: The seconds at the start from which a match is by correspondence.
CORRESPONDENCE_S = 86_400.0

#: The classes of clocks, by the seconds that a player has for a move.
ClockClass = Literal["bullet", "fast", "slow"]
CLOCK_CLASSES: Final[tuple[ClockClass, ...]] = get_args(ClockClass)
#: From these seconds a move on, a clock is fast, and slow.
_FAST_S, _SLOW_S = 2.0, 12.0
#: The number of moves among which main time is divided for the class of a clock.
_MOVES = 40


class TimeControlError(ValueError):
    """A notation that is malformed, or that gives no time; the message says what is allowed."""


def parse_time_control(text: str) -> TimeControl | None:
    """Return the time control that `text` describes, None for `none`. Raises TimeControlError."""
    text = text.strip().lower()
    if text == "none":
        return None
    time_control = None
    if found := _PER_MOVE.fullmatch(text):
        time_control = TimeControl(0.0, 0.0, 1, float(found[1]))
    elif found := _FISCHER.fullmatch(text):
        time_control = TimeControl(float(found[1]), float(found[2]), 0, 0.0)
    elif found := _BYO_YOMI.fullmatch(text):
        time_control = TimeControl(float(found[1]), 0.0, int(found[2]), float(found[3]))
    elif found := _DELAY.fullmatch(text):
        time_control = TimeControl(float(found[1]), 0.0, 0, 0.0)
        if delay_s := float(found[2]):  # the default is not sent, and no other 0.0 is the default
            time_control = structs.replace(time_control, delay_s=delay_s)
    if time_control is None or not _gives_time(time_control):
        remedy = "write it as" if time_control is None else "it gives no time; use one like"
        raise TimeControlError(f"cannot use the clock {text[:50]!r}: {remedy} {NOTATIONS}")
    return time_control


def spell_time_control(time_control: TimeControl | None) -> str:
    """Return the canonical notation, which is the same for equal time controls; `none` for None."""
    if time_control is None:
        return "none"
    seconds = (time_control.main_s, time_control.increment_s, time_control.period_s)
    main, increment, period = map(decimal, seconds)
    periods = time_control.periods
    if time_control.delay_s:
        return f"{main}d{decimal(time_control.delay_s)}"
    if periods == 1 and not time_control.main_s:
        return f"{period}/move"
    return f"{main}+{periods}x{period}" if periods else f"{main}+{increment}"


def scaled(time_control: TimeControl | None, factor: float) -> TimeControl | None:
    """Return the time control with its seconds multiplied, rounded to thousandths."""
    if time_control is None:
        return None
    times = ("main_s", "increment_s", "period_s", "delay_s")
    given = {name: seconds for name in times if (seconds := getattr(time_control, name))}
    changed = {name: max(0.001, round(factor * seconds, 3)) for name, seconds in given.items()}
    return structs.replace(time_control, **changed)


def parse_time_controls(text: str) -> tuple[TimeControl, TimeControl] | None:
    """Return the time controls of both players, None for `none`. Raises TimeControlError."""
    first, bar, second = text.partition(_BAR)
    one = parse_time_control(first)
    other = parse_time_control(second) if bar else one
    if one is None or other is None:
        if one is not other:
            text = f"cannot use the clock {text[:50]!r}: either both players have one, or neither"
            raise TimeControlError(text)
        return None
    return one, other


def spell_time_controls(both: tuple[TimeControl, TimeControl] | None) -> str:
    """Return the canonical notation of both time controls: a single one if they are equal."""
    if both is None or both[0] == both[1]:
        return spell_time_control(both and both[0])
    return _BAR.join(map(spell_time_control, both))


def canonical_time_control(text: str) -> str:
    """Return the canonical form of any notation. Raises TimeControlError."""
    return spell_time_control(parse_time_control(text))


def is_correspondence(time_control: TimeControl | None) -> bool:
    """Whether it gives a day or more at the start, so that nobody has to stay connected."""
    if time_control is None:
        return False
    main_s, periods_s = time_control.main_s, time_control.periods * time_control.period_s
    return main_s + periods_s >= CORRESPONDENCE_S


def longest_s(time_control: TimeControl, moves: float) -> float:
    """Return the most seconds that a player can think in this number of its moves."""
    periods, period_s = time_control.periods, time_control.period_s
    per_move = time_control.delay_s + time_control.increment_s + (period_s if periods else 0)
    return time_control.main_s + max(0, periods - 1) * period_s + moves * per_move


@functools.lru_cache(maxsize=1000)
def clock_class(text: str) -> ClockClass:
    """Return the class of the clock of a match, by the seconds a move in 40 moves of a player.

    A match without a clock is slow; one with two clocks has the class of the longer one. Raises
    TimeControlError.
    """
    both = parse_time_controls(text)
    if both is None:
        return "slow"
    seconds = max(longest_s(each, _MOVES) for each in both) / _MOVES
    return "bullet" if seconds < _FAST_S else "fast" if seconds < _SLOW_S else "slow"


def decimal(number: float) -> str:
    """Return the number rounded to thousandths, without zeros at the end."""
    return f"{number:.3f}".rstrip("0").rstrip(".")


def _gives_time(time_control: TimeControl) -> bool:
    """Return False without main time and periods, and for periods of no length."""
    if time_control.periods or time_control.period_s:
        return time_control.periods * time_control.period_s > 0
    return time_control.main_s > 0


def shown_s(time_control: TimeControl, clock_state: ClockState) -> float:
    """Return the seconds that a clock shows after a move: main time, or the next period."""
    return clock_state.main_s or (time_control.period_s if clock_state.periods else 0.0)
