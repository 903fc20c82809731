"""Helpers of the formats for people: plain text, lines, clocks, dates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from server.model.messages import ClockState, TimeControl

#: The longest line of moves, in characters.
COLUMNS = 80

_CONTROL = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")


def plain(text: str) -> str:
    """The text with a space in place of each line break and other control character."""
    return text.translate(_CONTROL)


def filled(pieces: Iterable[str], between: str = "") -> str:
    """The pieces on lines of at most COLUMNS characters, unless a piece is longer."""
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(between) + len(piece) > COLUMNS:
            lines.append("")
        lines[-1] += (between if lines[-1] else "") + piece
    return "\n".join(lines)


def shown_s(time_control: TimeControl, clock_state: ClockState) -> float:
    """The seconds that a clock shows after a move: main time, or the next period."""
    return clock_state.main_s or (time_control.period_s if clock_state.periods else 0.0)


def utc(at: float) -> datetime:
    """The UTC date and time of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)
