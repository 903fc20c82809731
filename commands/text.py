"""Helpers of the formats for people: plain text, lines, clocks, dates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

#: The longest line of moves, in characters.
COLUMNS = 80

#: What stands where a number is unknown.
UNKNOWN = "\N{EN DASH}"

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


def utc(at: float) -> datetime:
    """The UTC date and time of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)


def percent(share: float | None, digits: int = 1) -> str:
    """A share, 0 to 1, as in `87.5%`; a dash if it is unknown."""
    return UNKNOWN if share is None else f"{100 * share:.{digits}f}%"


def counted(number: int, one: str) -> str:
    """A number with its noun, as in `1 pair`, `2 pairs`, `3 matches`."""
    ending = "" if number == 1 else "es" if one.endswith("ch") else "s"
    return f"{number} {one}{ending}"
