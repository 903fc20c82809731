"""What the formats for people have in common: plain text, lines, clocks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from server.model.messages import ClockState, TimeControl

#: The longest line of moves.
COLUMNS = 80

_CONTROL = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " ")


def plain(text: str) -> str:
    """`text` without line breaks and other control characters: spaces in their place."""
    return text.translate(_CONTROL)


def filled(pieces: Iterable[str], between: str = "") -> str:
    """The pieces on lines of at most COLUMNS, as far as the longest of them lets that be."""
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(between) + len(piece) > COLUMNS:
            lines.append("")
        lines[-1] += (between if lines[-1] else "") + piece
    return "\n".join(lines)


def shown_s(control: TimeControl, reading: ClockState) -> float:
    """The seconds that a clock shows after a move: main time, or the period that comes next."""
    return reading.main_s or (control.period_s if reading.periods else 0.0)


def utc(at: float) -> datetime:
    """A time, given in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)
